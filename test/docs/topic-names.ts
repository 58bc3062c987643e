/** Names that examples of the test driver use without saying what they are. Never run. */
import type { KeyValueStoreDescriptor, StreamsBuilder, Topic } from 'millpond'
import type { TopologyTestDriver } from 'millpond/testing'

export interface Order {
  readonly total: number
}

export declare const builder: StreamsBuilder
export declare const driver: TopologyTestDriver
export declare const lines: Topic<string, string>
export declare const counts: Topic<string, number>
export declare const orders: Topic<string, Order>
export declare const priced: Topic<string, Order>
export declare const order: Order
export declare const wordCounts: KeyValueStoreDescriptor<string, number>
export declare const assert: { equal(actual: unknown, expected: unknown): void }

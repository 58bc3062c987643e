/** Names that examples in docstrings use without saying what they are. Never run. */
import type {
  GlobalKTable,
  KafkaStreams,
  KStream,
  KTable,
  KeyValueStoreDescriptor,
  SinkTopic,
  StreamsBuilder,
  Topic,
  Topology,
  Window,
  WindowStoreDescriptor,
} from 'millpond'
import type { Service } from 'millpond/server'

export interface Order {
  readonly id: string
  readonly customerId: string
  readonly country: string
  readonly countryCode: string
  readonly total: number
}
export interface NumberedOrder extends Order {
  readonly number: number
}
export interface Click {
  readonly session: string
  readonly page: string
  readonly seconds: number
}
export interface Customer {
  readonly name: string
  readonly city: string
}
export interface Reading {
  readonly room: string
  readonly celsius: number
}
export interface Visit {
  readonly clicks: number
  readonly spent: number
}
export interface Question {
  readonly text: string
}

export declare const builder: StreamsBuilder
export declare const topology: Topology
export declare const streams: KafkaStreams
export declare const service: Service

export declare const orders: KStream<string, Order>
export declare const clicks: KStream<string, Click>
export declare const views: KStream<string, Click>
export declare const logins: KStream<string, string>
export declare const sales: KStream<string, number>
export declare const payments: KStream<string, number>
export declare const readings: KStream<string, Reading>
export declare const questions: KStream<string, Question>
export declare const answers: KStream<string, string>
export declare const words: KStream<string, string>
export declare const numbers: KStream<string, number>
export declare const customers: KTable<string, Customer>
export declare const countries: GlobalKTable<string, { readonly name: string }>

export declare const lines: Topic<Uint8Array | null, string>
export declare const kept: SinkTopic<Uint8Array | null, string>
export declare const customersTopic: Topic<string, Customer>
export declare const countriesTopic: Topic<string, { readonly name: string }>
export declare const ratesTopic: Topic<string, { readonly toEuro: number }>

export declare const wordCounts: KeyValueStoreDescriptor<string, number>
export declare const counts: KeyValueStoreDescriptor<string, number>
export declare const numbersOf: KeyValueStoreDescriptor<string, number>
export declare const clicksByMinute: WindowStoreDescriptor<string, number>

export declare const from: number
export declare const to: number
export declare const applicationId: string
export declare const brokers: readonly string[]
export declare const fiscalYearOf: (timestamp: number) => Window
export declare const numberOf: (stores: object, id: string) => number
export declare const merge: (click: Click, view: Click) => Click
export declare const retryLater: () => void
export declare const send: (line: object) => void

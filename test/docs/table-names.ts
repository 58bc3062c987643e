/** Names that examples of tables use without saying what they are. Never run. */
import type { KTable, SinkTopic, Windowed } from 'millpond'

export interface Order {
  readonly customerId: string
  readonly total: number
}
export interface NamedOrder extends Order {
  readonly customer: string
}
export interface Shipped extends Order {
  readonly sent: string
}
export interface Task {
  readonly owner: string
  readonly text: string
}

export declare const orders: KTable<string, Order>
export declare const customers: KTable<string, { readonly name: string; readonly city: string }>
export declare const shipments: KTable<string, { readonly day: string }>
export declare const balances: KTable<string, { readonly owner: string; readonly cents: number }>
export declare const tasks: KTable<string, Task>
export declare const counts: KTable<Windowed<string>, number, number>
export declare const totals: KTable<string, number>

export declare const finalCounts: SinkTopic<Windowed<string>, number>

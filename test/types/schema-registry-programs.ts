/** Programs with serdes of a schema registry that must compile, with their types. Checked by `tsc`, never run. */
import {
  KafkaStreams,
  keyValueStore,
  topic,
  type Serde,
  type StreamsBuilder,
  type Topic,
} from 'millpond'
import { SchemaRegistry, type AvroLogicalType, type RegistrySerde } from 'millpond/schema-registry'

/** Compiles only when both types are the same. */
type Same<A, B> =
  // oxlint-disable-next-line typescript/no-unnecessary-type-parameters -- how types are compared
  (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : 'types differ'
function same<A, B>(_proof: Same<A, B>): void {}

interface Order {
  readonly id: string
  readonly placedAt: Date
}

export async function program(builder: StreamsBuilder): Promise<void> {
  await using registry = new SchemaRegistry({ url: 'http://localhost:8081', auth: { token: 't' } })
  const date: AvroLogicalType<Date, number> = {
    fromAvro: (millis) => new Date(millis),
    toAvro: (value) => value.getTime(),
  }
  const value = registry.avro<Order>({
    subject: 'orders-value',
    logicalTypes: { 'timestamp-millis': date },
  })
  same<typeof value, RegistrySerde<Order>>(true)
  const asSerde: Serde<Order> = value
  const key = registry.protobuf<{ id: bigint }>({ subject: 'orders-key', longs: 'bigint' })
  const orders = topic('orders', { key, value: asSerde })
  same<typeof orders, Topic<{ id: bigint }, Order>>(true)
  const totals = registry.json<{ total: number }>({ subject: 'totals', validate: 'always' })
  builder
    .stream(orders)
    .groupByKey()
    .aggregate(
      () => ({ total: 0 }),
      (sum) => ({ total: sum.total + 1 }),
      { store: keyValueStore('totals', { key, value: totals }) },
    )
  await registry.load()
  await value.load()
  const streams = new KafkaStreams(builder.build(), { applicationId: 'a', brokers: ['b:1'] })
  await streams.start()
}

export function wrong(registry: SchemaRegistry, builder: StreamsBuilder): void {
  // @ts-expect-error -- a user has a password
  void new SchemaRegistry({ url: 'http://a', auth: { username: 'me' } })
  // @ts-expect-error -- the subject is needed
  registry.avro<Order>({})
  // @ts-expect-error -- a .proto file is text
  registry.protobuf<Order>({ subject: 's', schema: {} })
  // @ts-expect-error -- no such form
  registry.avro<Order>({ subject: 's', longs: 'string' })
  // @ts-expect-error -- no such option
  registry.json<Order>({ subject: 's', messageType: 'Order' })
  const orders = topic('orders', { value: registry.avro<Order>({ subject: 's' }) })
  // @ts-expect-error -- an order has no total
  builder.stream(orders).mapValues((order) => order.total)
}

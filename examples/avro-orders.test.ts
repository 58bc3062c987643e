/** `npx tsx --test examples/avro-orders.test.ts` */
import { deepEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { serdes, topic } from 'millpond'
import { SchemaRegistry } from 'millpond/schema-registry'
import { TopologyTestDriver } from 'millpond/testing'
import { orderSchema, orderTopics, orderTotals, type Order } from './avro-orders.ts'

/** A newer version of the schema than the program knows. */
const newerSchema = {
  ...orderSchema,
  fields: [...orderSchema.fields, { name: 'coupon', type: ['null', 'string'], default: null }],
}

await test('orders are summed, whatever version of the schema wrote them', async () => {
  // A registry in this process: no server is needed.
  await using registry = new SchemaRegistry({ url: 'mock://avro-orders' })
  const producer = registry.avro<object>({
    subject: 'orders-value',
    schema: newerSchema,
    register: true,
  })
  const written = topic('orders', { key: serdes.string, value: producer })
  const topics = orderTopics(registry)
  await registry.load()

  using driver = new TopologyTestDriver(orderTotals(topics))
  const order = { customer: 'ann', cents: 500, placedAt: 1_700_000_000_000 }
  driver.input(written).pipe({ key: '1', value: { ...order, coupon: null }, timestamp: 1 })
  driver.input(written).pipe({ key: '2', value: { ...order, coupon: 'X' }, timestamp: 2 })

  const values = driver.output(topics.totals).readAll()
  deepEqual(
    values.map(({ key, value }) => [key, { ...value }]),
    [
      ['ann', { orders: 1, cents: 500 }],
      ['ann', { orders: 2, cents: 1000 }],
    ],
  )
})

await test('times are dates', async () => {
  await using registry = new SchemaRegistry({ url: 'mock://avro-orders' })
  const { order } = orderTopics(registry)
  const value: Order = { customer: 'bob', cents: 7, placedAt: new Date('2024-02-29') }
  deepEqual({ ...order.deserialize(order.serialize(value)) }, value)
})

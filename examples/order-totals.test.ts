/** `npx tsx --test examples/order-totals.test.ts` */
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { TopologyTestDriver } from 'millpond/testing'
import { orderTotals, orders, totals, totalsByCustomer } from './order-totals.ts'

await test('orders of a customer add up', () => {
  using driver = new TopologyTestDriver(orderTotals())
  const input = driver.input(orders)
  input.pipe({ key: '1', value: { customer: 'ada', cents: 500 }, timestamp: 10 })
  input.pipe({ key: '2', value: { customer: 'bob', cents: 100 }, timestamp: 11 })
  input.pipe({ key: '3', value: { customer: 'ada', cents: 250 }, timestamp: 12 })

  deepStrictEqual(driver.store(totalsByCustomer).get('ada'), { orders: 2, cents: 750 })
})

await test('a customer who leaves is forgotten, and the topic hears of it', () => {
  using driver = new TopologyTestDriver(orderTotals())
  const input = driver.input(orders)
  input.pipe({ key: '1', value: { customer: 'ada', cents: 500 }, timestamp: 10 })
  input.pipe({ key: '2', value: { customer: 'ada', cents: 0, closing: true }, timestamp: 20 })

  strictEqual(driver.store(totalsByCustomer).get('ada'), undefined)
  deepStrictEqual(driver.output(totals).readAll(), [
    { key: 'ada', value: { orders: 1, cents: 500 }, timestamp: 10 },
    { key: 'ada', value: null, timestamp: 20 },
  ])
})

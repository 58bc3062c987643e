/** `npx tsx --test examples/enriched-orders.test.ts` */
import { deepStrictEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { TopologyTestDriver } from 'millpond/testing'
import {
  countries,
  customers,
  enriched,
  enrichedOrders,
  orders,
  unknownCustomers,
} from './enriched-orders.ts'

await test('an order gets the names of its customer and country, as they are at that moment', () => {
  using driver = new TopologyTestDriver(enrichedOrders())
  driver.input(countries).pipe({ key: 'AT', value: 'Austria' })
  driver.input(customers).pipe({ key: 'c1', value: 'Ann' })
  const order = { customer: 'c1', country: 'AT', cents: 500 }
  driver.input(orders).pipe({ key: 'o1', value: order })
  driver.input(customers).pipe({ key: 'c1', value: 'Anna' })
  driver.input(orders).pipe({ key: 'o2', value: { ...order, country: 'XX' } })

  deepStrictEqual(driver.output(enriched).readKeyValues(), [
    ['c1', { ...order, name: 'Ann', countryName: 'Austria' }],
    ['c1', { ...order, name: 'Anna', country: 'XX', countryName: 'XX' }],
  ])
})

await test('orders of customers who are not there, or no longer, go elsewhere', () => {
  using driver = new TopologyTestDriver(enrichedOrders())
  const order = { customer: 'c1', country: 'AT', cents: 500 }
  driver.input(customers).pipe({ key: 'c1', value: 'Ann' })
  driver.input(customers).pipe({ key: 'c1', value: null })
  driver.input(orders).pipe({ key: 'o1', value: order })

  deepStrictEqual(driver.output(unknownCustomers).readValues(), [order])
  deepStrictEqual(driver.output(enriched).isEmpty, true)
})

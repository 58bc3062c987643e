/** `npx tsx --test examples/low-stock.test.ts` */
import { deepStrictEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { TopologyTestDriver } from 'millpond/testing'
import { lowStock, lowStockAlerts, stock } from './low-stock.ts'

await test('only products that run low, or no longer do, are told', () => {
  using driver = new TopologyTestDriver(lowStockAlerts())
  const input = driver.input(stock)
  input.pipe({ key: 'tea', value: 50, timestamp: 1 })
  input.pipe({ key: 'tea', value: 9, timestamp: 2 })
  input.pipe({ key: 'tea', value: 30, timestamp: 3 })
  input.pipe({ key: 'tea', value: 25, timestamp: 4 })

  deepStrictEqual(driver.output(lowStock).readAll(), [
    { key: 'tea', value: 9, timestamp: 2 },
    { key: 'tea', value: null, timestamp: 3 },
  ])
})

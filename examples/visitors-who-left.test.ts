/** `npx tsx --test examples/visitors-who-left.test.ts` */
import { deepStrictEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { minutes } from 'millpond'
import { TopologyTestDriver } from 'millpond/testing'
import { clicks, lastSeen, left, visitorsWhoLeft } from './visitors-who-left.ts'

await test('who has not clicked for five minutes has left', () => {
  using driver = new TopologyTestDriver(visitorsWhoLeft())
  driver.input(clicks).pipe({ key: 'ann', value: '/', timestamp: 0 })
  driver.input(clicks).pipe({ key: 'bob', value: '/', timestamp: minutes(4) })
  driver.advanceWallClockTime(minutes(5))

  deepStrictEqual(driver.output(left).readAll(), [{ key: 'ann', value: 0, timestamp: minutes(5) }])
  deepStrictEqual([...driver.store(lastSeen).range()], [['bob', minutes(4)]])
})

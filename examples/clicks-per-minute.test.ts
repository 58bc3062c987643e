/** `npx tsx --test examples/clicks-per-minute.test.ts` */
import { deepStrictEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { minutes, seconds } from 'millpond'
import { TopologyTestDriver } from 'millpond/testing'
import { clicks, clicksPerMinute, perMinute } from './clicks-per-minute.ts'

await test('a minute is told once, when it is over and nobody can be late any more', () => {
  using driver = new TopologyTestDriver(clicksPerMinute())
  const click = (page: string, second: number): void =>
    driver.input(clicks).pipe({ key: 'ann', value: page, timestamp: seconds(second) })
  click('/tea', 5)
  click('/tea', 65)
  click('/tea', 50) // late, but the first minute is still open
  deepStrictEqual(driver.output(perMinute).readAll(), [])

  click('/pots', 71)
  click('/tea', 30) // too late
  deepStrictEqual(driver.output(perMinute).readKeyValues(), [
    [{ key: '/tea', window: { start: 0, end: minutes(1) } }, 2],
  ])
  deepStrictEqual(driver.metrics.droppedRecords(), new Map([['expired-window', 1]]))
})

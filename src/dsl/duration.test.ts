import { expect, test } from 'vitest'
import { days, hours, minutes, seconds } from './duration.ts'

test('durations are milliseconds', () => {
  expect([seconds(1), minutes(1), hours(1), days(1), seconds(0.5)]).toEqual([
    1000, 60_000, 3_600_000, 86_400_000, 500,
  ])
})

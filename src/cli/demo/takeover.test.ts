import { expect, test } from 'vitest'
import { takeoverLine } from './takeover.ts'

const end = { code: null, signal: null, reason: undefined }

test.each([
  [
    'was killed',
    { ...end, signal: 'SIGKILL' as const },
    1,
    'The others take over its partitions when its session ends, after 6 seconds. Start it again:',
  ],
  [
    'was told to stop',
    { ...end, code: 0 },
    2,
    'It has left in order: the others take over its partitions at once. Start it again:',
  ],
  [
    'has failed',
    { ...end, code: 1, reason: 'no disk' },
    1,
    'The others take over its partitions within 6 seconds. Start it again:',
  ],
  [
    'was killed, and was the only one',
    { ...end, signal: 'SIGKILL' as const },
    0,
    'No other instance is left to take over its partitions. Start it again:',
  ],
  [
    'was told to stop, and was the only one',
    { ...end, code: 0 },
    0,
    'No other instance is left to take over its partitions. Start it again:',
  ],
])('of an instance that %s', (_what, how, others, line) => {
  expect(takeoverLine(how, others)).toBe(line)
})

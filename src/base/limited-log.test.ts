import { expect, test } from 'vitest'
import { LimitedLog } from './limited-log.ts'
import { createLog } from './log.ts'
import { ManualClock } from './manual-clock.ts'

function limited(): { log: LimitedLog; lines: string[]; clock: ManualClock } {
  const lines: string[] = []
  const clock = new ManualClock()
  const sink = createLog(
    (level, message, fields) => {
      const facts = Object.entries(fields).map(([name, value]) => ` ${name}=${String(value)}`)
      lines.push(`${level} ${message}${facts.join('')}`)
    },
    { level: 'debug' },
  )
  return { log: new LimitedLog(sink, clock, { intervalMs: 60_000 }), lines, clock }
}

test('the first line of its kind is told at once, and the others as a number when the interval ends', async () => {
  const { log, lines, clock } = limited()
  for (let n = 1; n <= 4; n += 1) log.warn('no broker', { reason: `refused ${n}` })
  expect(lines).toEqual(['warn no broker reason=refused 1'])
  await clock.run(60_000)
  expect(lines.slice(1)).toEqual(['warn no broker (3 more in the last 60 s) reason=refused 4'])
})

test('while it goes on, each interval has one line; after a quiet one the next is told at once', async () => {
  const { log, lines, clock } = limited()
  for (let second = 0; second < 150; second += 1) {
    log.warn('no broker')
    await clock.run(1000)
  }
  expect(lines).toEqual([
    'warn no broker',
    'warn no broker (59 more in the last 60 s)',
    'warn no broker (60 more in the last 60 s)',
  ])
  await clock.run(120_000)
  expect(lines.splice(0)).toContain('warn no broker (30 more in the last 60 s)')
  log.warn('no broker')
  expect(lines).toEqual(['warn no broker'])
})

test('another thing that fails is another kind; another reason or client is not', () => {
  const { log, lines } = limited()
  log.warn('wiped', { task: '0_0', error: 'a' })
  log.warn('wiped', { task: '0_1', error: 'a' })
  log.warn('wiped', { task: '0_1', error: 'b' })
  log.warn('closed a connection', { peer: '127.0.0.1:5001', reason: 'no Kafka' })
  log.warn('closed a connection', { peer: '127.0.0.1:5002', reason: 'not a request' })
  log.error('wiped', { task: '0_0', error: 'a' })
  expect(lines).toEqual([
    'warn wiped task=0_0 error=a',
    'warn wiped task=0_1 error=a',
    'warn closed a connection peer=127.0.0.1:5001 reason=no Kafka',
    'error wiped task=0_0 error=a',
  ])
})

test('debug and info are told as often as they come', () => {
  const { log, lines } = limited()
  for (const _ of [1, 2]) {
    log.debug('asked again')
    log.info('the state changed')
  }
  expect(lines).toHaveLength(4)
})

test('a child has its own fields, and the same limits', () => {
  const { log, lines } = limited()
  log.child({ task: '0_0' }).warn('wiped')
  log.child({ task: '0_0' }).warn('wiped')
  log.child({ task: '0_1' }).warn('wiped')
  expect(lines).toEqual(['warn wiped task=0_0', 'warn wiped task=0_1'])
})

test('closed, it tells what it has counted, waits for nothing, and limits no more', async () => {
  const { log, lines, clock } = limited()
  log.warn('no broker')
  log.warn('no broker')
  log.close()
  expect(lines.slice(1)).toEqual(['warn no broker (1 more in the last 60 s)'])
  await clock.run(200_000)
  expect(lines).toHaveLength(2)
  log.warn('no broker')
  log.warn('no broker')
  expect(lines).toHaveLength(4)
  log.close()
})

test('the number of kinds has a bound, and those that make room are told', async () => {
  const { log, lines, clock } = limited()
  for (let n = 0; n < 10_000; n += 1) {
    log.warn('wiped', { task: n })
    log.warn('wiped', { task: n })
  }
  expect(lines).toHaveLength(20_000 - LimitedLog.kindsMax)
  await clock.run(180_000)
  expect(lines).toHaveLength(20_000)
  expect(clock.timerCount).toBe(0)
})

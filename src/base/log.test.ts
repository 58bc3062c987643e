import { expect, test } from 'vitest'
import { createLog, silentLog } from './log.ts'

test('a log writes lines of its level and above, with the fields of its parents', () => {
  const lines: unknown[] = []
  const log = createLog((...line) => lines.push(line), { level: 'warn', fields: { app: 'a' } })
  log.info('quiet')
  log.child({ task: '0_1' }).warn('loud', { n: 1 })
  expect(lines).toEqual([['warn', 'loud', { app: 'a', task: '0_1', n: 1 }]])
})

test('the silent log drops everything', () => {
  expect(() => silentLog.error('nobody hears this')).not.toThrow()
})

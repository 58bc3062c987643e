import { expect, test } from 'vitest'
import { shutdownSignal } from './shutdown-signal.ts'

test('the first SIGTERM aborts, and the next one is left to the system', () => {
  const before = process.listenerCount('SIGTERM')
  const signal = shutdownSignal()
  expect(signal.aborted).toBe(false)
  process.emit('SIGTERM', 'SIGTERM')
  expect(signal.aborted).toBe(true)
  expect((signal.reason as Error).message).toBe('received SIGTERM')
  expect(process.listenerCount('SIGTERM')).toBe(before)
  expect(process.listenerCount('SIGINT')).toBe(before)
})

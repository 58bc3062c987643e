import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { StreamsError, errorCodes, isStreamsError, messageOf } from './errors.ts'

const page = readFileSync(new URL('../docs/reference/errors.md', import.meta.url), 'utf8')
const rows = [...page.matchAll(/^\| `([A-Z_]+)` +\| (\d{3}) +\| (yes|no) +\| (.+?) +\|$/gm)]

test('the page docs/reference/errors.md lists every code, with its status and whether to retry', () => {
  const listed = rows.map((row) => `${row[1]} ${row[2]} ${row[3]}`).sort()
  const expected = errorCodes
    .map((code) => new StreamsError(code))
    .map((error) => `${error.code} ${error.http} ${error.retriable ? 'yes' : 'no'}`)
    .sort()
  expect(listed).toEqual(expected)
})

test('a message names the thing and what to do', () => {
  const error = new StreamsError('SOURCE_TOPIC_MISSING', { topic: 'orders' })
  expect(error.message).toBe('The source topic orders does not exist. Create it, then start again.')
  expect(error.context).toEqual({ topic: 'orders' })
  expect(isStreamsError(error, 'SOURCE_TOPIC_MISSING')).toBe(true)
  expect(isStreamsError(error, 'STORE_UNKNOWN')).toBe(false)
})

test('every message is one sentence even without context', () => {
  for (const code of errorCodes) expect(new StreamsError(code).message).toMatch(/^[A-Z].*\.$/s)
})

test('a detail that is a sentence ends the message with one full stop', () => {
  const inner = new StreamsError('BROKER_UNREACHABLE', { broker: 'kafka:9092', detail: 'refused' })
  const context = { topic: 'orders', partition: 0, detail: inner.message }
  const { message } = new StreamsError('DELIVERY_FAILED', context)
  expect(message).toMatch(/refused\.$/)
})

test('anything that is thrown has a message', () => {
  expect(messageOf(new Error('a'))).toBe('a')
  expect(messageOf('b')).toBe('b')
})

import { createRequire } from 'node:module'
import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { StreamsError } from '../errors.ts'
import { createLog } from './log.ts'
import { isLogger, lineOf, logOf } from './logger.ts'

const require = createRequire(import.meta.url)

/** The pino that the HTTP server brings along. */
const pino = createRequire(require.resolve('fastify'))('pino') as (
  options: object,
  to: Writable,
) => Record<string, unknown>

test('a logger with the four methods gets each line with its fields, and no empty ones', () => {
  const calls: unknown[] = []
  const hear =
    (level: string) =>
    (...args: unknown[]): void =>
      void calls.push([level, ...args])
  const logger = {
    debug: hear('debug'),
    info: hear('info'),
    warn: hear('warn'),
    error: hear('error'),
  }
  const log = logOf(logger).child({ task: '0_1' })
  log.debug('a')
  log.warn('b', { n: 1 })
  logOf(logger).error('c')
  expect(calls).toEqual([
    ['debug', 'a', { task: '0_1' }],
    ['warn', 'b', { task: '0_1', n: 1 }],
    ['error', 'c'],
  ])
})

test('the methods of a logger keep their this', () => {
  class Counting {
    lines = 0
    debug(): void {
      this.lines += 1
    }
    info(): void {}
    warn(): void {}
    error(): void {}
  }
  const logger = new Counting()
  logOf(logger).debug('a')
  expect(logger.lines).toBe(1)
})

test('pino, which takes the fields first, gets them first', () => {
  let written = ''
  const to = new Writable({
    write: (chunk: Buffer, _encoding, done) => {
      written += chunk.toString()
      done()
    },
  })
  const logger = pino({ base: null, timestamp: false, level: 'info' }, to)
  expect(isLogger(logger)).toBe(true)
  if (!isLogger(logger)) return
  const log = logOf(logger)
  log.warn('no broker', { broker: 'a:1' })
  log.child({ task: '0_1' }).info('started')
  log.debug('quiet')
  log.error('failed', { error: new TypeError('bad'), n: 1 })
  expect(
    written
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toEqual([
    { level: 40, broker: 'a:1', msg: 'no broker' },
    { level: 30, task: '0_1', msg: 'started' },
    {
      level: 50,
      n: 1,
      err: { type: 'TypeError', message: 'bad', stack: expect.any(String) },
      msg: 'failed',
    },
  ])
})

test('a logger that throws does not stop what is logged', () => {
  const fail = (): never => {
    throw new Error('the disk is full')
  }
  const log = logOf({ debug: fail, info: fail, warn: fail, error: fail })
  expect(() => log.error('a')).not.toThrow()
})

test.each([
  ['console', console, true],
  ['a log of createLog', createLog(() => undefined), true],
  ['nothing', undefined, false],
  ['null', null, false],
  ['a function', console.log, false],
  ['three methods', { debug() {}, info() {}, warn() {} }, false],
])('%s is a logger: %s', (_what, given, expected) => {
  expect(isLogger(given)).toBe(expected)
})

test('a line has its time, its level, who speaks, the message and the facts, and is one line', () => {
  const at = Date.UTC(2026, 0, 2, 3, 4, 5, 6)
  expect(
    lineOf(at, 'word-count', 'warn', 'closed a connection\nof a client', {
      peer: '127.0.0.1:5001',
      reason: 'two words',
      n: 5,
      text: '',
      list: [1, 2],
      error: new StreamsError('ABORTED', { what: 'the\nstart' }),
      nothing: undefined,
    }),
  ).toBe(
    '2026-01-02T03:04:05.006Z WARN millpond word-count: closed a connection of a client ' +
      'peer=127.0.0.1:5001 reason="two words" n=5 text="" list=[1,2] error="The wait for the start was aborted."',
  )
})

test('a fault is told with where it came from, in one line', () => {
  const error = new TypeError('bad')
  error.stack = 'TypeError: bad\n    at here (file:1:2)\n    at there (file:3:4)'
  expect(lineOf(0, 'a', 'error', 'failed', { error })).toBe(
    '1970-01-01T00:00:00.000Z ERROR millpond a: failed error="TypeError: bad at here (file:1:2) at there (file:3:4)"',
  )
})

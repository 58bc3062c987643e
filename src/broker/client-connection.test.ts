import { describe, expect, test } from 'vitest'
import { createLog } from '../base/log.ts'
import type { LoggerChoice } from '../base/logger.ts'
import { ManualClock } from '../base/manual-clock.ts'
import type { Connection, ListenOptions, Transport } from '../base/transport.ts'
import { encodeRequestHeader } from '../protocol/header.ts'
import { fetch } from '../protocol/messages/1-fetch.ts'
import { metadata } from '../protocol/messages/3-metadata.ts'
import { encodeRequest } from '../protocol/schema.ts'
import { Writer } from '../protocol/writer.ts'
import { Broker } from './broker.ts'

/** A client's end of the line, in the hands of the test. */
class Line implements Connection {
  readonly peer = '127.0.0.1:5'
  queuedBytes = 0
  isPaused = false
  isDestroyed = false
  answerCount = 0
  onData: (bytes: Buffer) => void = () => undefined
  onDrain: () => void = () => undefined
  onClose: (reason: Error | undefined) => void = () => undefined

  write(): void {
    this.answerCount += 1
  }
  cork(): void {}
  uncork(): void {}
  end(): void {}
  pause(): void {
    this.isPaused = true
  }
  resume(): void {
    this.isPaused = false
  }
  destroy(): void {
    if (this.isDestroyed) return
    this.isDestroyed = true
    this.onClose(undefined)
  }
}

/** A broker to which lines are connected by hand. */
async function start(
  clock: ManualClock,
  logger: LoggerChoice = 'silent',
): Promise<{ broker: Broker; connect: () => Line }> {
  let accept: ListenOptions['onConnection'] = () => undefined
  const transport: Transport = {
    connect: () => Promise.reject(new Error('a broker does not connect')),
    listen: ({ host, onConnection }) => {
      accept = onConnection
      const close = (): Promise<void> => Promise.resolve()
      return Promise.resolve({ host, port: 9092, close, [Symbol.asyncDispose]: close })
    },
  }
  const broker = new Broker({ clock, transport, logger })
  await broker.start()
  const connect = (): Line => {
    const line = new Line()
    accept(line)
    return line
  }
  return { broker, connect }
}

function framed(write: (writer: Writer) => void): Buffer {
  const writer = new Writer()
  writer.int32(0)
  write(writer)
  writer.patchInt32(0, writer.position - 4)
  return writer.finish()
}

const asksMetadata = (name = 't'): Buffer =>
  framed((writer) => {
    encodeRequestHeader(metadata, 4, { correlationId: 1, clientId: 'test' }, writer)
    encodeRequest(metadata, 4, { topics: [{ name }] }, writer)
  })

const waitsForRecords = (): Buffer =>
  framed((writer) => {
    encodeRequestHeader(fetch, 4, { correlationId: 2, clientId: 'test' }, writer)
    const partitions = [{ partition: 0, fetchOffset: 0, partitionMaxBytes: 1_000 }]
    const body = { maxWaitMs: 500, minBytes: 1, topics: [{ topic: 't', partitions }] }
    encodeRequest(fetch, 4, body, writer)
  })

describe('ClientConnection', () => {
  test('a client that does not read its answers gets no more of them, until it reads', async () => {
    const { broker, connect } = await start(new ManualClock())
    const line = connect()
    line.queuedBytes = 20_000_000
    line.onData(asksMetadata())
    expect(line.answerCount).toBe(0)
    line.queuedBytes = 0
    line.onDrain()
    expect(line.answerCount).toBe(1)
    await broker.close()
  })

  test('what comes in behind a request that waits is read up to a limit, and done afterwards', async () => {
    const clock = new ManualClock()
    const { broker, connect } = await start(clock)
    const line = connect()
    line.onData(asksMetadata())
    line.onData(waitsForRecords())
    const next = asksMetadata('a-long-name'.repeat(100))
    let sent = 0
    for (; !line.isPaused; sent += 1) line.onData(next)
    expect(sent * next.length).toBeGreaterThan(1_000_000)
    expect(sent * next.length).toBeLessThan(1_100_000)
    expect(line.answerCount).toBe(1)
    await clock.run(500)
    expect(line.answerCount).toBe(2 + sent)
    expect(line.isPaused).toBe(false)
    await broker.close()
  })

  test('after a bad request nothing of what follows it is done', async () => {
    const { broker, connect } = await start(new ManualClock())
    const line = connect()
    line.onData(Buffer.concat([Buffer.from([0xff, 0xff, 0xff, 0xff]), asksMetadata('late')]))
    expect([line.isDestroyed, line.answerCount]).toEqual([true, 0])
    const other = connect()
    other.onData(asksMetadata())
    expect([other.isDestroyed, other.answerCount]).toEqual([false, 1])
    await broker.close()
    expect(other.isDestroyed).toBe(true)
  })

  test('bad connections are told once, then as a number each minute, and at the end', async () => {
    const clock = new ManualClock()
    const lines: string[] = []
    const log = createLog((level, message) => lines.push(`${level} ${message}`), { level: 'warn' })
    const { broker, connect } = await start(clock, log)
    const knock = (times: number): void => {
      for (let n = 0; n < times; n += 1) connect().onData(Buffer.from('GET / HTTP/1.1\r\n\r\n'))
    }
    knock(500)
    expect(lines.splice(0)).toEqual(['warn closed a connection'])
    await clock.run(60_000)
    expect(lines.splice(0)).toEqual(['warn closed a connection (499 more in the last 60 s)'])
    knock(3)
    expect(lines).toEqual([])
    await broker.close()
    expect(lines).toEqual(['warn closed a connection (3 more in the last 60 s)'])
    expect(clock.timerCount).toBe(0)
  })

  test('connections beyond those that a broker can have are told once as well', async () => {
    const lines: string[] = []
    const log = createLog((level, message) => lines.push(`${level} ${message}`), { level: 'warn' })
    const { broker, connect } = await start(new ManualClock(), log)
    for (let n = 0; n < 10_100; n += 1) connect()
    expect(lines.splice(0)).toEqual(['warn refused a connection: there are too many'])
    await broker.close()
    expect(lines).toEqual([
      'warn refused a connection: there are too many (99 more in the last 60 s)',
    ])
  })
})

import { describe, expect, test } from 'vitest'
import { settled, startProducing } from '../../test/peers/scripted-appends.ts'
import { StreamsError } from '../errors.ts'
import { errorCode } from '../protocol/error-codes.ts'
import type { RecordOrigin, RefusalHandler } from './refusal.ts'

const bad = (value: string): number =>
  value.includes('bad') ? errorCode.INVALID_RECORD : errorCode.NONE

/** Drops what it is asked about, and keeps it. */
function dropping() {
  const refused: string[] = []
  const onRefused: RefusalHandler = ({ topic, partition, value, timestamp }, error) => {
    refused.push(`${topic}-${partition} ${String(value)}@${timestamp} ${error.code}`)
    return 'continue'
  }
  return { refused, onRefused }
}

describe('a record that is refused', () => {
  test('fails the producer when nobody is asked', async () => {
    const { clock, producer, send, setRefusal, end } = await startProducing()
    setRefusal(bad)
    send('bad')
    await expect(settled(clock, producer.flush())).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
      cause: { code: 'KAFKA_ERROR', context: { error: 'INVALID_RECORD' } },
    })
    await end()
  })

  test('is dropped alone, and those around it are written once and in order', async () => {
    const { refused, onRefused } = dropping()
    const { clock, producer, logs, send, setRefusal, end } = await startProducing({
      producer: { onRefused, batchBytes: 200 },
    })
    setRefusal(bad)
    const sent = Array.from({ length: 60 }, (_, i) => (i % 7 === 3 ? `bad ${i}` : `value ${i}`))
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent.filter((value) => !value.includes('bad')))
    const dropped = sent.filter((value) => value.includes('bad'))
    // Later batches may come to the broker before earlier ones are split.
    expect(refused.toSorted()).toEqual(
      dropped.map((value) => `t-0 ${value}@1000 KAFKA_ERROR`).toSorted(),
    )
    send('more')
    await settled(clock, producer.flush())
    expect(logs[0]?.values.at(-1)).toBe('more')
    expect(producer.queuedBytes).toBe(0)
    await end()
  })

  test('is dropped while batches that follow it are under way', async () => {
    const { refused, onRefused } = dropping()
    const { clock, producer, logs, send, setRefusal, end } = await startProducing({
      producer: { onRefused, batchBytes: 1 },
    })
    setRefusal(bad)
    send('first')
    await settled(clock, producer.flush())
    for (const value of ['bad 1', 'a', 'b', 'bad 2', 'c']) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(['first', 'a', 'b', 'c'])
    expect(refused).toHaveLength(2)
    await end()
  })

  test('is told with where it came from, also when its batch was split', async () => {
    const told: unknown[] = []
    const { clock, producer, setRefusal, end } = await startProducing({
      producer: {
        onRefused: ({ value, origin }) => {
          told.push([String(value), origin])
          return 'continue'
        },
      },
    })
    setRefusal(bad)
    const originOf = (offset: number): RecordOrigin => {
      const source = { key: null, value: Buffer.from(String(offset)) }
      return { taskId: '0_1', node: 'sink', topic: 'in', partition: 1, offset, source }
    }
    const values = ['a', 'bad 1', 'b', 'c', 'bad 4', 'bad 5', 'd']
    // The second batch begins while the first one is under way.
    for (const [offset, value] of values.entries()) {
      producer.send('t', 0, null, Buffer.from(value), 1000, [], originOf(offset))
      if (offset === 4) await settled(clock, producer.flush())
    }
    producer.send('t', 0, null, Buffer.from('bad, of nobody'), 1000, [])
    await settled(clock, producer.flush())
    expect(told).toEqual([
      ['bad 1', originOf(1)],
      ['bad 4', originOf(4)],
      ['bad 5', originOf(5)],
      ['bad, of nobody', undefined],
    ])
    await end()
  })

  test('holds up a flush that begins while its batch is in parts', async () => {
    const refused: string[] = []
    const later: Promise<number>[] = []
    const { clock, producer, send, setRefusal, end } = await startProducing({
      producer: {
        onRefused: ({ value }) => {
          refused.push(String(value))
          later.push(producer.flush().then(() => refused.length))
          return 'continue'
        },
      },
    })
    setRefusal(bad)
    for (const value of ['a', 'bad 1', 'b', 'bad 2']) send(value)
    await settled(clock, producer.flush())
    expect(await Promise.all(later)).toEqual([2, 2])
    await end()
  })

  test('may be too large alone', async () => {
    const { refused, onRefused } = dropping()
    const { clock, producer, logs, send, setRefusal, end } = await startProducing({
      producer: { onRefused },
    })
    setRefusal((value) => (value === 'large' ? errorCode.MESSAGE_TOO_LARGE : errorCode.NONE))
    for (const value of ['a', 'large', 'b']) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(['a', 'b'])
    expect(refused).toHaveLength(1)
    await end()
  })

  test('leaves other partitions alone', async () => {
    const { onRefused } = dropping()
    const { clock, producer, logs, send, setRefusal, end } = await startProducing({
      partitions: 2,
      producer: { onRefused },
    })
    setRefusal(bad)
    send('bad', 0)
    send('fine', 1)
    await settled(clock, producer.flush())
    expect(logs.map(({ values }) => values)).toEqual([[], ['fine']])
    await end()
  })

  test('may be written elsewhere by who is asked', async () => {
    const { clock, producer, logs, send, setRefusal, end } = await startProducing({
      partitions: 2,
      producer: {
        onRefused: ({ value }) => {
          send(`letter about ${String(value).slice(0, 1)}`, 1)
          return 'continue'
        },
      },
    })
    setRefusal(bad)
    send('bad')
    await settled(clock, producer.flush())
    await settled(clock, producer.flush())
    expect(logs[1]?.values).toEqual(['letter about b'])
    await end()
  })

  test('fails the producer with what is thrown', async () => {
    const error = new StreamsError('HANDLER_FAILED', { handler: 'onProductionError', detail: 'x' })
    const { clock, producer, send, setRefusal, end } = await startProducing({
      producer: {
        onRefused: () => {
          throw error
        },
      },
    })
    setRefusal(bad)
    send('bad')
    await expect(settled(clock, producer.flush())).rejects.toBe(error)
    expect(() => send('more')).toThrow(error)
    await end()
  })

  test('fails the producer when it is to be tried again', async () => {
    const { clock, producer, send, setRefusal, end } = await startProducing({
      producer: { onRefused: () => 'retry' },
    })
    setRefusal(bad)
    send('bad')
    await expect(settled(clock, producer.flush())).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
    })
    await end()
  })

  test('is not asked about when the producer is not to write there at all', async () => {
    const { refused, onRefused } = dropping()
    const { clock, producer, faults, send, end } = await startProducing({ producer: { onRefused } })
    faults.push({ code: errorCode.TOPIC_AUTHORIZATION_FAILED })
    send('a')
    await expect(settled(clock, producer.flush())).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
    })
    expect(refused).toEqual([])
    await end()
  })
})

describe('records that are not taken in time', () => {
  const hang = 'hang' as const

  test('may be dropped, and what comes later is written', async () => {
    const { refused, onRefused } = dropping()
    const { clock, producer, logs, faults, send, end } = await startProducing({
      producer: { onRefused, deliveryTimeoutMs: 20_000 },
    })
    faults.push(hang)
    for (const value of ['a', 'b']) send(value)
    await settled(clock, producer.flush(), 60_000)
    expect(refused).toEqual(['t-0 a@1000 REQUEST_TIMEOUT', 't-0 b@1000 REQUEST_TIMEOUT'])
    send('c')
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(['c'])
    await end()
  })

  test('fail the producer when they are to be tried again', async () => {
    const { clock, producer, faults, send, end } = await startProducing({
      producer: { onRefused: () => 'retry', deliveryTimeoutMs: 20_000 },
    })
    faults.push(hang)
    send('a')
    await expect(settled(clock, producer.flush(), 60_000)).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
      cause: { code: 'REQUEST_TIMEOUT' },
    })
    await end()
  })
})

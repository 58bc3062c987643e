import { beforeEach, describe, expect, test } from 'vitest'
import { createLog, silentLog, type Log } from '../base/log.ts'
import type { DeserializationErrorHandler, ErrorHandlerContext } from '../error-handlers.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { patchLeaderEpoch } from '../protocol/record-batch-patch.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import { serdes } from '../serde/serdes.ts'
import { noHeaders } from '../store/state-store.ts'
import type { SourceNode, TimestampExtractor } from '../topology/node.ts'
import {
  failOnInvalidTimestamp,
  logAndSkipOnInvalidTimestamp,
  usePartitionTimeOnInvalidTimestamp,
  wallclockTimestamp,
} from '../topology/timestamp-extractors.ts'
import { ErrorHandlers } from './error-handlers.ts'
import { RecordQueue } from './record-queue.ts'
import { TaskNode } from './task-node.ts'
import { thrownBy } from '../../test/peers/thrown-by.ts'

interface TestRecord {
  key?: string | null
  value?: string | Buffer | null
  timestamp: number
  headers?: [string, Buffer][]
}

let metrics: StreamsMetrics
beforeEach(() => {
  metrics = new StreamsMetrics()
})

function batch(
  baseOffset: number,
  records: TestRecord[],
  options: { isControl?: boolean; lastOffsetDelta?: number } = {},
): Buffer {
  const builder = new RecordBatchBuilder()
  for (const { key = 'k', value = 'v', timestamp, headers } of records) {
    builder.append(
      key === null ? null : Buffer.from(key),
      value === null ? null : Buffer.from(value),
      timestamp,
      headers,
    )
  }
  return builder.build({
    baseOffset,
    producerId: -1,
    producerEpoch: -1,
    baseSequence: -1,
    ...options,
  })
}

function queueOf(
  options: {
    timestamp?: TimestampExtractor
    value?: SourceNode['value']
    onDeserializationError?: DeserializationErrorHandler
    log?: Log
  } = {},
): RecordQueue {
  const record = { timestamp: -1, offset: -1, topic: '', partition: -1, headers: noHeaders }
  const { onDeserializationError } = options
  const task = '0_3'
  const handlers = new ErrorHandlers({
    task,
    record,
    metrics,
    log: silentLog,
    send: undefined,
    onDeserializationError,
  })
  return new RecordQueue({
    task,
    topic: 'in',
    partition: 3,
    source: {
      kind: 'source',
      name: 'source',
      topics: ['in'],
      key: serdes.string as SourceNode['key'],
      value: options.value ?? (serdes.string as SourceNode['value']),
      timestamp: options.timestamp,
      internal: false,
    },
    node: new TaskNode({ name: 'source', kind: 'source', task, record, handlers }),
    metrics,
    handlers,
    log: options.log,
    wallClockTime: () => 1_000,
  })
}

/** Takes the next record: [offset, key, value, timestamp], or undefined when there is none. */
function drainOne(queue: RecordQueue): unknown[] | undefined {
  if (!queue.advance()) return undefined
  const row = [queue.headOffset, queue.headKey, queue.headValue, queue.headTimestamp]
  queue.take()
  return row
}

/** Takes everything. */
function drain(queue: RecordQueue): unknown[][] {
  const rows: unknown[][] = []
  for (let row = drainOne(queue); row !== undefined; row = drainOne(queue)) rows.push(row)
  return rows
}

test('the leader epoch is that of the batch at the position, then that of the last one', () => {
  const queue = queueOf()
  expect(queue.leaderEpoch).toBe(-1)
  const [first, second] = [
    batch(0, [{ timestamp: 1 }, { timestamp: 2 }]),
    batch(2, [{ timestamp: 3 }]),
  ]
  patchLeaderEpoch(first, 4)
  patchLeaderEpoch(second, 7)
  queue.add(Buffer.concat([first, second]), 0)
  const epochs: number[] = []
  while (queue.advance()) {
    epochs.push(queue.leaderEpoch)
    queue.take()
  }
  expect(epochs).toEqual([4, 4, 7])
  expect(queue.leaderEpoch).toBe(7)
})

describe('the records of a partition', () => {
  test('come out decoded, in the order of their offsets, over several batches and fetches', () => {
    const queue = queueOf()
    const two = Buffer.concat([
      batch(10, [{ key: 'a', value: 'x', timestamp: 5 }]),
      batch(11, [{ key: 'b', value: 'y', timestamp: 4 }]),
    ])
    queue.add(two, 10)
    queue.add(batch(12, [{ key: 'c', value: 'z', timestamp: 6 }]), 12)

    expect(drain(queue)).toEqual([
      [10, 'a', 'x', 5],
      [11, 'b', 'y', 4],
      [12, 'c', 'z', 6],
    ])
    expect(queue.position).toBe(13)
    expect(queue.partitionTime).toBe(6)
  })

  test('before the offset that was asked for are passed over', () => {
    const queue = queueOf()
    const records = [{ timestamp: 1 }, { timestamp: 2 }, { key: 'c', timestamp: 3 }]
    queue.add(Buffer.concat([batch(0, [{ timestamp: 0 }]), batch(1, records)]), 3)

    expect(drain(queue)).toEqual([[3, 'c', 'v', 3]])
  })

  test('are counted while they wait', () => {
    const queue = queueOf()
    const first = batch(0, [{ timestamp: 1 }, { timestamp: 2 }])
    const second = batch(2, [{ timestamp: 3 }])
    queue.add(first, 0)
    queue.add(second, 2)

    expect(queue.bufferedRecords).toBe(3)
    expect(queue.bufferedBytes).toBe(first.length + second.length)
    queue.advance()
    expect(queue.bufferedRecords).toBe(3)
    queue.take()
    expect(queue.bufferedRecords).toBe(2)
    drain(queue)
    expect(queue.bufferedRecords).toBe(0)
    expect(queue.bufferedBytes).toBe(0)
  })

  test('with null key or value never reach a serde', () => {
    const queue = queueOf()
    queue.add(batch(0, [{ key: null, value: null, timestamp: 1 }]), 0)

    expect(drain(queue)).toEqual([[0, null, null, 1]])
  })

  test('carry headers of their own', () => {
    const queue = queueOf()
    const bytes = batch(0, [{ timestamp: 1, headers: [['h', Buffer.from('x')]] }, { timestamp: 2 }])
    queue.add(bytes, 0)

    queue.advance()
    const headers = queue.headHeaders
    bytes.fill(0)
    expect(headers).toEqual([['h', Buffer.from('x')]])
  })

  test('without headers share one empty list', () => {
    const queue = queueOf()
    queue.add(batch(0, [{ timestamp: 1 }]), 0)

    queue.advance()
    expect(queue.headHeaders).toBe(noHeaders)
  })

  test('that wait are forgotten by clear, and the position is still that of the head', () => {
    const queue = queueOf()
    queue.add(batch(7, [{ timestamp: 1 }, { timestamp: 2 }]), 7)
    queue.advance()
    queue.take()
    queue.advance()

    queue.clear()
    expect(queue.advance()).toBe(false)
    expect(queue.position).toBe(8)
    expect(queue.bufferedRecords).toBe(0)
  })
})

describe('the position', () => {
  test('is not known before anything was read', () => {
    expect(queueOf().position).toBe(undefined)
  })

  test('is that of the head while it waits', () => {
    const queue = queueOf()
    queue.add(batch(7, [{ timestamp: 1 }]), 7)
    queue.advance()

    expect(queue.position).toBe(7)
  })

  test('moves past markers of transactions', () => {
    const queue = queueOf()
    queue.add(
      Buffer.concat([
        batch(0, [{ timestamp: 1 }]),
        batch(1, [{ timestamp: 1 }], { isControl: true }),
      ]),
      0,
    )

    expect(drain(queue)).toEqual([[0, 'k', 'v', 1]])
    expect(queue.position).toBe(2)
  })

  test('moves past markers when there is nothing else', () => {
    const queue = queueOf()
    queue.add(batch(4, [{ timestamp: 1 }], { isControl: true }), 4)

    expect(queue.advance()).toBe(false)
    expect(queue.position).toBe(5)
  })

  test('moves past what compaction took away at the end of a batch', () => {
    const queue = queueOf()
    queue.add(batch(0, [{ timestamp: 1 }], { lastOffsetDelta: 9 }), 0)

    expect(drain(queue)).toEqual([[0, 'k', 'v', 1]])
    expect(queue.position).toBe(10)
  })

  test('follows a reset to an earlier offset', () => {
    const queue = queueOf()
    queue.add(batch(100, [{ timestamp: 1 }]), 100)
    drain(queue)
    queue.add(batch(0, [{ key: 'again', timestamp: 2 }]), 0)

    expect(drain(queue)).toEqual([[0, 'again', 'v', 2]])
    expect(queue.position).toBe(1)
  })
})

describe('a negative timestamp', () => {
  test('fails with the place of the record, and the position is the record', () => {
    const queue = queueOf()
    queue.add(batch(20, [{ timestamp: 4 }, { timestamp: -1 }]), 20)
    queue.advance()
    queue.take()

    const error = thrownBy(() => queue.advance())
    expect(error.code).toBe('TIMESTAMP_INVALID')
    expect(error.message).toBe(
      'The record at in-3 offset 21 has the invalid timestamp -1. State a timestamp extractor for this topic.',
    )
    expect(queue.position).toBe(21)
  })

  test('of an extractor drops the record, which leaves the queue, and the next one comes', () => {
    const queue = queueOf({ timestamp: (_value, _key, recordTimestamp) => recordTimestamp })
    queue.add(batch(0, [{ timestamp: -1 }]), 0)

    expect(queue.advance()).toBe(false)
    expect(queue.bufferedRecords).toBe(0)
    expect(queue.position).toBe(1)
    expect(metrics.droppedRecords()).toEqual(new Map([['invalid-timestamp', 1]]))
    queue.add(batch(1, [{ timestamp: 5 }]), 1)
    expect(drain(queue)).toEqual([[1, 'k', 'v', 5]])
  })
})

describe('a timestamp that no number holds', () => {
  // Nanoseconds that were written as milliseconds.
  const nanoseconds = 1.7e18

  test.each([
    ['without an extractor', undefined],
    ['with failOnInvalidTimestamp', failOnInvalidTimestamp],
    [
      'with usePartitionTimeOnInvalidTimestamp and no time before it',
      usePartitionTimeOnInvalidTimestamp,
    ],
  ])('is invalid %s', (_name, timestamp) => {
    const queue = queueOf({ timestamp })
    queue.add(batch(7, [{ timestamp: nanoseconds }]), 7)

    const error = thrownBy(() => queue.advance())
    expect([error.code, error.context['offset'], error.context['timestamp']]).toEqual([
      'TIMESTAMP_INVALID',
      7,
      nanoseconds,
    ])
    expect(queue.position).toBe(7)
  })

  test('is dropped by logAndSkipOnInvalidTimestamp', () => {
    const queue = queueOf({ timestamp: logAndSkipOnInvalidTimestamp })
    queue.add(batch(0, [{ timestamp: nanoseconds }]), 0)
    queue.add(batch(1, [{ timestamp: 5 }]), 1)

    expect(drain(queue)).toEqual([[1, 'k', 'v', 5]])
    expect(metrics.droppedRecords()).toEqual(new Map([['invalid-timestamp', 1]]))
  })

  test('is the time of the partition with usePartitionTimeOnInvalidTimestamp', () => {
    const queue = queueOf({ timestamp: usePartitionTimeOnInvalidTimestamp })
    queue.add(batch(0, [{ timestamp: 9 }, { timestamp: nanoseconds }]), 0)

    expect(drain(queue).map(([, , , timestamp]) => timestamp)).toEqual([9, 9])
  })

  test('one below the limit is a time as any other', () => {
    const queue = queueOf()
    queue.add(batch(0, [{ timestamp: Number.MAX_SAFE_INTEGER }]), 0)

    expect(drain(queue)).toEqual([[0, 'k', 'v', Number.MAX_SAFE_INTEGER]])
  })
})

describe('S22 negative timestamps', () => {
  const negative = { timestamp: -1 }

  test('failOnInvalidTimestamp fails as the default does', () => {
    const queue = queueOf({ timestamp: failOnInvalidTimestamp })
    queue.add(batch(20, [{ timestamp: 4 }, negative]), 20)
    expect(drainOne(queue)).toEqual([20, 'k', 'v', 4])

    const error = thrownBy(() => queue.advance())
    expect([error.code, error.message]).toEqual([
      'TIMESTAMP_INVALID',
      'The record at in-3 offset 21 has the invalid timestamp -1. State a timestamp extractor for this topic.',
    ])
  })

  test('logAndSkipOnInvalidTimestamp drops, counts and logs it; the queue is empty, and the next comes', () => {
    const lines: unknown[] = []
    const log = createLog((level, message, fields) => lines.push([level, message, fields]))
    const queue = queueOf({ timestamp: logAndSkipOnInvalidTimestamp, log })
    queue.add(batch(0, [negative]), 0)

    expect(queue.advance()).toBe(false)
    expect(queue.bufferedRecords).toBe(0)
    expect(metrics.droppedRecords()).toEqual(new Map([['invalid-timestamp', 1]]))
    expect(lines).toEqual([
      [
        'warn',
        'a record was dropped for its invalid timestamp',
        { topic: 'in', partition: 3, offset: 0, timestamp: -1 },
      ],
    ])
    queue.add(batch(1, [{ timestamp: 5 }]), 1)
    expect(drain(queue)).toEqual([[1, 'k', 'v', 5]])
  })

  test('usePartitionTimeOnInvalidTimestamp gives it the latest time that the partition has had', () => {
    const queue = queueOf({ timestamp: usePartitionTimeOnInvalidTimestamp })
    queue.add(batch(0, [{ timestamp: 9 }, { timestamp: 5 }, negative, { timestamp: 7 }]), 0)

    expect(drain(queue).map(([offset, , , timestamp]) => [offset, timestamp])).toEqual([
      [0, 9],
      [1, 5],
      [2, 9],
      [3, 7],
    ])
  })

  test('usePartitionTimeOnInvalidTimestamp fails when there was none', () => {
    const queue = queueOf({ timestamp: usePartitionTimeOnInvalidTimestamp })
    queue.add(batch(0, [negative]), 0)

    expect(thrownBy(() => queue.advance()).code).toBe('TIMESTAMP_INVALID')
  })

  test('wallclockTimestamp does not look at it', () => {
    const queue = queueOf({ timestamp: wallclockTimestamp })
    queue.add(batch(0, [negative, { timestamp: 5 }]), 0)

    expect(drain(queue).map(([, , , timestamp]) => timestamp)).toEqual([1000, 1000])
  })
})

describe('a timestamp extractor', () => {
  test('sees where the record comes from, and the time of its partition', () => {
    const seen: unknown[] = []
    const queue = queueOf({
      timestamp: (_value, _key, recordTimestamp, context) => {
        const { topic, partition, offset, headers, partitionTime } = context
        seen.push([topic, partition, offset, headers, partitionTime, context.wallClockTime()])
        return recordTimestamp
      },
    })
    queue.add(batch(7, [{ timestamp: 4 }, { timestamp: 2, headers: [['h', Buffer.from('x')]] }]), 7)
    drain(queue)

    expect(seen).toEqual([
      ['in', 3, 7, [], -1, 1000],
      ['in', 3, 8, [['h', Buffer.from('x')]], 4, 1000],
    ])
  })

  test('gets value, key and timestamp, and its answer counts', () => {
    const seen: unknown[] = []
    const queue = queueOf({
      timestamp: (value, key, recordTimestamp) => {
        seen.push([value, key, recordTimestamp])
        return 77
      },
    })
    queue.add(batch(0, [{ key: 'a', value: 'x', timestamp: 5 }]), 0)

    expect(drain(queue)).toEqual([[0, 'a', 'x', 77]])
    expect(seen).toEqual([['x', 'a', 5]])
  })

  test('that throws fails the record by name', () => {
    const queue = queueOf({
      timestamp: () => {
        throw new Error('no clock')
      },
    })
    queue.add(batch(0, [{ timestamp: 5 }]), 0)

    expect(thrownBy(() => queue.advance()).message).toBe(
      'The step source failed on the record at in-3 offset 0: the timestamp extractor threw: no clock.',
    )
  })

  test('that returns no number fails the record by name', () => {
    const queue = queueOf({ timestamp: () => Number.NaN })
    queue.add(batch(0, [{ timestamp: 5 }]), 0)

    expect(thrownBy(() => queue.advance()).message).toBe(
      'The step source failed on the record at in-3 offset 0: the timestamp extractor returned NaN, not a whole number of milliseconds.',
    )
  })
})

describe('a record that cannot be deserialized', () => {
  const long = serdes.long as SourceNode['value']
  const records = [
    { value: 'short', timestamp: 1 },
    { value: Buffer.from('0000000000000007', 'hex'), timestamp: 2 },
  ]

  test('fails with its place', () => {
    const queue = queueOf({ value: long })
    queue.add(batch(30, records), 30)

    const error = thrownBy(() => queue.advance())
    expect(error.code).toBe('RECORD_UNREADABLE')
    expect(error.context).toMatchObject({ task: '0_3', topic: 'in', partition: 3, offset: 30 })
    expect(queue.position).toBe(30)
  })

  test('is skipped and counted when told to continue', () => {
    const queue = queueOf({ value: long, onDeserializationError: 'continue' })
    queue.add(batch(30, records), 30)

    expect(drain(queue)).toEqual([[31, 'k', 7, 2]])
    expect(metrics.droppedRecords()).toEqual(new Map([['deserialization-error', 1]]))
  })

  test('is shown to a handler, which decides', () => {
    const seen: ErrorHandlerContext[] = []
    const queue = queueOf({
      value: long,
      onDeserializationError: (context) => {
        seen.push(context)
        return 'continue'
      },
    })
    queue.add(batch(30, records), 30)

    expect(drain(queue)).toEqual([[31, 'k', 7, 2]])
    expect(seen).toEqual([
      {
        taskId: '0_3',
        node: 'source',
        topic: 'in',
        partition: 3,
        offset: 30,
        timestamp: 1,
        headers: [],
        sourceRawKey: Buffer.from('k'),
        sourceRawValue: Buffer.from('short'),
      },
    ])
  })
})

test('damage in a batch is reported with the partition', () => {
  const queue = queueOf()
  const bytes = batch(5, [{ timestamp: 1 }])
  bytes.writeUInt8(bytes.readUInt8(bytes.length - 1) ^ 1, bytes.length - 1)
  queue.add(bytes, 5)

  const error = thrownBy(() => queue.advance())
  expect(error.code).toBe('RECORD_BATCH_CORRUPT')
  expect(error.context).toMatchObject({ topic: 'in', partition: 3, offset: 5 })
})

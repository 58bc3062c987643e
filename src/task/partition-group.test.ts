import { describe, expect, test } from 'vitest'
import { silentLog } from '../base/log.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import { serdes } from '../serde/serdes.ts'
import { noHeaders } from '../store/state-store.ts'
import type { SourceNode } from '../topology/node.ts'
import { ErrorHandlers } from './error-handlers.ts'
import { PartitionGroup } from './partition-group.ts'
import { RecordQueue } from './record-queue.ts'
import { TaskNode } from './task-node.ts'

function batch(...timestamps: number[]): Buffer {
  const builder = new RecordBatchBuilder()
  for (const timestamp of timestamps) builder.append(null, Buffer.from('v'), timestamp)
  return builder.build({ baseOffset: 0, producerId: -1, producerEpoch: -1, baseSequence: -1 })
}

function queueOf(topic: string): RecordQueue {
  const record = { timestamp: -1, offset: -1, topic: '', partition: -1, headers: noHeaders }
  const metrics = new StreamsMetrics()
  const task = '0_0'
  const handlers = new ErrorHandlers({ task, record, metrics, log: silentLog, send: undefined })
  return new RecordQueue({
    task,
    topic,
    partition: 0,
    source: {
      kind: 'source',
      name: topic,
      topics: [topic],
      key: serdes.string as SourceNode['key'],
      value: serdes.string as SourceNode['value'],
      internal: false,
    },
    node: new TaskNode({ name: topic, kind: 'source', task, record, handlers }),
    metrics,
    handlers,
    wallClockTime: () => 0,
  })
}

interface Setup {
  group: PartitionGroup
  left: RecordQueue
  right: RecordQueue
  lags: Map<string, number>
  time: { now: number }
}

function setup(options: { maxTaskIdleMs?: number } = {}): Setup {
  const left = queueOf('left')
  const right = queueOf('right')
  const lags = new Map([
    ['left', 0],
    ['right', 0],
  ])
  const time = { now: 1000 }
  const group = new PartitionGroup({
    queues: [left, right],
    maxTaskIdleMs: options.maxTaskIdleMs ?? 0,
    lag: (topic) => lags.get(topic),
    monotonic: () => time.now,
  })
  return { group, left, right, lags, time }
}

/** Takes all that is to be had in one turn: `topic@timestamp`. */
function drain(group: PartitionGroup): string[] {
  const rows: string[] = []
  group.beginTurn()
  for (let queue = group.next(); queue !== undefined; queue = group.next()) {
    rows.push(`${queue.topic}@${queue.headTimestamp}`)
    queue.take()
  }
  return rows
}

test('the record with the earliest timestamp is next', () => {
  const { group, left, right } = setup()
  group.add(left, batch(10, 30, 31), 0)
  group.add(right, batch(20, 5, 40), 0)

  expect(drain(group)).toEqual(['left@10', 'right@20', 'right@5', 'left@30', 'left@31', 'right@40'])
})

test('the partition that had data first goes first when timestamps are equal', () => {
  const { group, left, right } = setup()
  group.add(right, batch(10), 0)
  group.add(left, batch(10), 0)

  expect(drain(group)).toEqual(['right@10', 'left@10'])
})

test('nor does one that has run empty keep its turn', () => {
  const { group, left, right } = setup()
  group.add(left, batch(10), 0)
  group.next()
  left.take()

  group.add(right, batch(10), 0)
  group.add(left, batch(10, 10), 1)
  expect(drain(group)).toEqual(['right@10', 'left@10'])
})

test('stream time is the largest timestamp handed out', () => {
  const { group, left } = setup()
  expect(group.streamTime).toBe(-1)
  group.add(left, batch(10, 30, 20), 0)

  group.next()
  expect(group.streamTime).toBe(10)
  left.take()
  drain(group)
  expect(group.streamTime).toBe(30)
})

test('stream time goes on from the partition times that were committed', () => {
  const { group, left, right } = setup()
  left.partitionTime = 70
  right.partitionTime = 90

  group.restoreTimes()
  expect(group.streamTime).toBe(90)
})

test('an empty partition is waited for while the broker has more of it', () => {
  const { group, left, right, lags } = setup()
  lags.set('right', 1)
  group.add(left, batch(10), 0)

  expect(drain(group)).toEqual([])
  group.add(right, batch(5), 0)
  lags.set('right', 0)
  expect(drain(group)).toEqual(['right@5', 'left@10'])
})

test('an empty partition is waited for while its lag is not known', () => {
  const { group, left, lags } = setup()
  lags.delete('right')
  group.add(left, batch(10), 0)

  expect(drain(group)).toEqual([])
  lags.set('right', 0)
  expect(drain(group)).toEqual(['left@10'])
})

test('a partition that runs empty in a turn is asked for its lag at once', () => {
  const { group, left, right, lags } = setup()
  group.add(left, batch(10, 20), 0)
  group.add(right, batch(5), 0)
  lags.set('right', 3)

  expect(drain(group)).toEqual(['right@5'])
})

test('with an idle time, a partition that is caught up is waited for that long', () => {
  const { group, left, time } = setup({ maxTaskIdleMs: 100 })
  group.add(left, batch(10), 0)

  expect(drain(group)).toEqual([])
  time.now += 99
  expect(drain(group)).toEqual([])
  time.now += 1
  expect(drain(group)).toEqual(['left@10'])
})

test('the idle time begins anew when the partition had something in between', () => {
  const { group, left, right, time } = setup({ maxTaskIdleMs: 100 })
  group.add(left, batch(10, 30), 0)
  expect(drain(group)).toEqual([])

  time.now += 60
  group.add(right, batch(20), 0)
  expect(drain(group)).toEqual(['left@10', 'right@20'])
  time.now += 99
  expect(drain(group)).toEqual([])
  time.now += 1
  expect(drain(group)).toEqual(['left@30'])
})

test('with a negative idle time, nothing is waited for', () => {
  const { group, left, lags } = setup({ maxTaskIdleMs: -1 })
  lags.set('right', 5)
  group.add(left, batch(10), 0)

  expect(drain(group)).toEqual(['left@10'])
})

test('records that are added while one is processed keep the order of time', () => {
  const { group, left, right } = setup()
  group.add(left, batch(10, 30), 0)
  group.beginTurn()
  const queue = group.next()
  group.add(right, batch(20), 0)
  queue?.take()

  expect(drain(group)).toEqual(['right@20', 'left@30'])
})

test('after clear there is nothing', () => {
  const { group, left } = setup()
  group.add(left, batch(10, 30), 0)
  group.next()
  group.clear()

  expect(drain(group)).toEqual([])
  group.add(left, batch(40), 0)
  expect(drain(group)).toEqual(['left@40'])
})

describe('the partitions of a group', () => {
  test('grow: nothing goes on before the lag of a new one is known', () => {
    const { group, left, right, lags } = setup()
    const later = queueOf('later')
    group.add(left, batch(10), 0)
    group.add(right, batch(20), 0)
    group.addQueue(later)

    expect(drain(group)).toEqual([])
    lags.set('later', 1)
    expect(drain(group)).toEqual([])
    group.add(later, batch(5), 0)
    lags.set('later', 0)
    expect(drain(group)).toEqual(['later@5', 'left@10', 'right@20'])
  })

  test('shrink: what waits of one that is gone is forgotten, and nothing waits for it', () => {
    const { group, left, right, lags } = setup()
    group.add(left, batch(10, 11), 0)
    group.add(right, batch(5, 20), 0)
    group.beginTurn()
    expect(group.next()).toBe(right)
    right.take()
    lags.set('right', 7)
    group.removeQueue(right)

    expect(drain(group)).toEqual(['left@10', 'left@11'])
    expect(group.queues).toEqual([left])
  })
})

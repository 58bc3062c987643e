import { describe, expect, test } from 'vitest'
import { silentLog } from '../base/log.ts'
import { ManualClock } from '../base/manual-clock.ts'
import { MemoryDisk } from '../base/memory-disk.ts'
import { seededRandom } from '../base/random.ts'
import { StreamsError } from '../errors.ts'
import { Refusal } from './refusal.ts'
import { configProblem, topicSettings } from './topic-configs.ts'
import { Topics, topicNameProblem, type Topic } from './topics.ts'

function open(disk: MemoryDisk, seed = 1): Topics {
  return new Topics({
    disk,
    clock: new ManualClock(),
    random: seededRandom(seed),
    log: silentLog,
    dataDir: '/data',
    defaults: new Map(),
    leaderEpoch: 0,
  })
}

function create(
  topics: Topics,
  name: string,
  partitionCount = 1,
  configs: Record<string, string> = {},
): Topic | Refusal | undefined {
  return topics.create([{ name, partitionCount, configs: new Map(Object.entries(configs)) }])[0]
}

function created(topics: Topics, name: string, partitionCount = 1): Topic {
  const topic = create(topics, name, partitionCount)
  if (topic === undefined || topic instanceof Refusal) throw topic ?? new Error('no result')
  return topic
}

const errorOf = (result: Topic | Refusal | undefined): string =>
  result instanceof Refusal ? result.error : 'created'

const namesOf = (topics: Topics): string[] => topics.all().map(({ name }) => name)

function codeOf(work: () => unknown): string {
  try {
    work()
  } catch (error) {
    if (error instanceof Refusal) return error.error
    return error instanceof StreamsError ? error.code : `another error: ${String(error)}`
  }
  return 'no error'
}

describe('Topics', () => {
  test('topics keep their id, partitions and settings over a restart', () => {
    const disk = new MemoryDisk()
    const topics = open(disk)
    const topic = created(topics, 'a', 3)
    create(topics, 'b', 1, { 'cleanup.policy': 'compact', 'retention.ms': '5' })
    topics.addPartitions(topic, 4)
    topics.setConfigs(topic, new Map([['segment.bytes', '1000']]))
    disk.crash('nothing')
    const again = open(disk, 2)
    expect(namesOf(again)).toEqual(['a', 'b'])
    expect(again.get('a')?.id).toBe(topic.id)
    expect(again.getById(topic.id)?.partitions.length).toBe(4)
    expect(again.get('a')?.settings.segmentBytes).toBe(1_000)
    expect(again.get('b')?.settings.isCompacted).toBe(true)
  })

  test('a deleted topic is gone with its records, and a new one of its name has another id', () => {
    const disk = new MemoryDisk()
    const topics = open(disk)
    const topic = created(topics, 'a', 2)
    topics.delete(topic)
    expect(disk.list('/data/topics')).toEqual([])
    expect(codeOf(() => topics.delete(topic))).toBe('UNKNOWN_TOPIC_OR_PARTITION')
    expect(created(topics, 'a').id).not.toBe(topic.id)
  })

  test('what a crash left of a deletion, or of a creation, is removed at the start', () => {
    const disk = new MemoryDisk()
    const topics = open(disk)
    created(topics, 'a')
    disk.makeDirectory('/data/topics/a-1')
    disk.makeDirectory('/data/topics/gone-0')
    open(disk)
    expect(disk.list('/data/topics')).toEqual(['a-0'])
  })

  test('without topics.json the logs of topics are not touched', () => {
    const disk = new MemoryDisk()
    created(open(disk), 'a')
    disk.remove('/data/topics.json')
    expect(codeOf(() => open(disk))).toBe('STATE_DIRECTORY_FAILED')
    expect(disk.list('/data/topics')).toEqual(['a-0'])
  })

  test('one topic that is refused does not keep the others from being created', () => {
    const topics = open(new MemoryDisk())
    const specification = (name: string, partitionCount: number) => ({
      name,
      partitionCount,
      configs: new Map<string, string>(),
    })
    const results = topics.create([
      specification('a', 1),
      specification('b', 0),
      specification('c', 10_001),
      specification('d', 1),
    ])
    expect(results.map(errorOf)).toEqual([
      'created',
      'INVALID_PARTITIONS',
      'INVALID_PARTITIONS',
      'created',
    ])
    expect(namesOf(topics)).toEqual(['a', 'd'])
  })

  test('a disk that fails leaves the topics as they were', () => {
    const disk = new MemoryDisk()
    const topics = open(disk)
    const topic = created(topics, 'a')
    disk.failWrite()
    expect(errorOf(create(topics, 'b'))).toBe('KAFKA_STORAGE_ERROR')
    disk.failWrite()
    expect(codeOf(() => topics.addPartitions(topic, 3))).toBe('DISK_FAILED')
    disk.failWrite()
    expect(codeOf(() => topics.delete(topic))).toBe('DISK_FAILED')
    disk.failWrite()
    expect(codeOf(() => topics.setConfigs(topic, new Map([['retention.ms', '1']])))).toBe(
      'DISK_FAILED',
    )
    for (const seen of [topics, open(disk)]) {
      expect(namesOf(seen)).toEqual(['a'])
      expect(seen.get('a')?.partitions.length).toBe(1)
      expect(seen.get('a')?.configs.size).toBe(0)
    }
    expect(disk.list('/data/topics')).toEqual(['a-0'])
  })

  test('names that exist, or that differ in dots and underscores only, are refused', () => {
    const topics = open(new MemoryDisk())
    created(topics, 'a.b_c')
    expect(errorOf(create(topics, 'a.b_c'))).toBe('TOPIC_ALREADY_EXISTS')
    expect(errorOf(create(topics, 'a_b.c'))).toBe('INVALID_TOPIC_EXCEPTION')
    expect(errorOf(create(topics, 'a-b-c'))).toBe('created')
  })

  test('the number of partitions only grows', () => {
    const topics = open(new MemoryDisk())
    const topic = created(topics, 'a', 2)
    expect(codeOf(() => topics.addPartitions(topic, 2))).toBe('INVALID_PARTITIONS')
    expect(codeOf(() => topics.addPartitions(topic, 1))).toBe('INVALID_PARTITIONS')
    expect(codeOf(() => topics.addPartitions(topic, 20_000))).toBe('INVALID_PARTITIONS')
  })
})

describe('topicNameProblem', () => {
  test('names of letters, digits, dots, underscores and hyphens are good, up to 249', () => {
    for (const name of ['a', 'my-app-KSTREAM-AGGREGATE-0000000001-changelog', '__x', 'a.b', '...'])
      expect(topicNameProblem(name)).toBeUndefined()
    expect(topicNameProblem('x'.repeat(249))).toBeUndefined()
  })

  test('all other names are refused', () => {
    for (const name of ['', '.', '..', 'a b', 'a/b', '../a', 'ä', 'a\n', 'x'.repeat(250)])
      expect(topicNameProblem(name)).toBeTypeOf('string')
  })
})

describe('topic settings', () => {
  test('every setting that Kafka Streams gives to its topics is accepted', () => {
    const settings = {
      'cleanup.policy': 'compact,delete',
      'retention.ms': '172800000',
      'retention.bytes': '-1',
      'segment.bytes': '52428800',
      'segment.ms': '600000',
      'min.compaction.lag.ms': '0',
      'delete.retention.ms': '86400000',
      'message.timestamp.type': 'CreateTime',
      'max.message.bytes': '2000000',
      'compression.type': 'producer',
      'min.insync.replicas': '2',
    }
    for (const [name, value] of Object.entries(settings))
      expect(configProblem(name, value)).toBeUndefined()
    expect(topicSettings(new Map(Object.entries(settings)), new Map())).toEqual({
      isCompacted: true,
      retentionMs: 172_800_000,
      retentionBytes: Infinity,
      segmentBytes: 52_428_800,
      segmentMs: 600_000,
      minCleanableDirtyRatio: 0.5,
      minCompactionLagMs: 0,
      maxCompactionLagMs: Infinity,
      deleteRetentionMs: 86_400_000,
      timestampType: 'create',
      timestampBeforeMaxMs: Infinity,
      timestampAfterMaxMs: 3_600_000,
      batchBytesMax: 2_000_000,
      compression: undefined,
      minInsyncReplicas: 2,
    })
  })

  test('a topic that is only compacted deletes nothing for its age or size', () => {
    const configs = new Map([['cleanup.policy', 'compact']])
    const settings = topicSettings(configs, new Map([['retention.bytes', '10']]))
    expect([settings.retentionMs, settings.retentionBytes]).toEqual([Infinity, Infinity])
  })

  test('values that are no value of their setting are told why', () => {
    const bad: [string, string | null][] = [
      ['retention.ms', 'soon'],
      ['retention.ms', '-2'],
      ['retention.ms', '1.5'],
      ['segment.bytes', '3000000000'],
      ['segment.bytes', ''],
      ['cleanup.policy', 'shred'],
      ['cleanup.policy', ''],
      ['compression.type', 'brotli'],
      ['min.cleanable.dirty.ratio', '1.1'],
      ['min.cleanable.dirty.ratio', 'half'],
      ['preallocate', 'yes'],
      ['retention.ms', null],
      ['no.such.setting', '1'],
    ]
    for (const [name, value] of bad) expect(configProblem(name, value)).toBeTypeOf('string')
  })
})

import { expect, test } from 'vitest'
import { until } from '../test/integration/until.ts'
import type { Logger } from './base/logger.ts'
import type { DiskLock } from './base/disk.ts'
import { ManualClock } from './base/manual-clock.ts'
import { MemoryDisk } from './base/memory-disk.ts'
import { systemPorts, type StreamsConfig } from './config.ts'
import { StreamsBuilder } from './dsl/streams-builder.ts'
import { topic } from './dsl/topic.ts'
import { StreamsError } from './errors.ts'
import { KafkaStreams } from './kafka-streams.ts'
import { serdes } from './serde/serdes.ts'
import { keyValueStore } from './store/descriptor.ts'

const lines = topic('lines', { key: serdes.string, value: serdes.string })
const counts = (persistent: boolean) =>
  keyValueStore('counts', { key: serdes.string, value: serdes.long, persistent })

function countingTopology(persistent: boolean) {
  const builder = new StreamsBuilder()
  builder
    .stream(lines)
    .groupByKey()
    .count({ store: counts(persistent) })
  return builder.build()
}

/** Nobody listens there. */
const config: StreamsConfig = {
  applicationId: 'app',
  brokers: ['127.0.0.1:1'],
  stateDir: '/state',
  logger: 'silent',
}

test('wrong options are told when the instance is made', () => {
  expect(() => new KafkaStreams(countingTopology(true), { ...config, brokers: [] })).toThrow(
    expect.objectContaining({ code: 'CONFIG_INVALID' }),
  )
})

test('a topology that reads nothing cannot be run', () => {
  expect(() => new KafkaStreams(new StreamsBuilder().build(), config)).toThrow(
    'Invalid topology: it reads no topic.',
  )
})

test('several workers need the topology as the URL of a module', () => {
  expect(() => new KafkaStreams(countingTopology(true), { ...config, workers: 2 })).toThrow(
    "The option workers is not valid: several workers run in threads, which need the topology as the URL of a module: new KafkaStreams(new URL('./topology.js', import.meta.url), …).",
  )
})

test.each(['addWorker', 'removeWorker'] as const)('%s needs a running instance', async (name) => {
  const streams = new KafkaStreams(countingTopology(true), config)
  const call = async (): Promise<unknown> => await streams[name]()
  await expect(call()).rejects.toMatchObject({
    code: 'STREAMS_STATE_INVALID',
    context: { operation: name, state: 'created' },
  })
})

/** As a program in JavaScript calls it, which no compiler has read. */
const Untyped = KafkaStreams as unknown as new (...args: unknown[]) => KafkaStreams

test.each([
  ['nothing', []],
  ['null', [null, config]],
  ['a name', ['word-count', config]],
  ['a builder', [new StreamsBuilder(), config]],
  ['its options', [config]],
])('%s in place of a topology is refused in plain words', (_what, args) => {
  expect(() => new Untyped(...args)).toThrowError(
    expect.objectContaining({
      code: 'TOPOLOGY_INVALID',
      message: expect.stringContaining('the first argument must be what builder.build() returns'),
    }),
  )
})

test.each([
  ['nothing', [], 'applicationId'],
  ['null', [null], 'applicationId'],
  ['a text', ['localhost:9092'], 'config'],
  ['a list', [['localhost:9092']], 'config'],
  ['a function', [() => config], 'config'],
])('%s in place of the options is refused in plain words', (_what, args, option) => {
  expect(() => new Untyped(countingTopology(true), ...args)).toThrowError(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      context: expect.objectContaining({ option }),
    }),
  )
})

test.each([[undefined], [null], ['counts'], [{ name: 'counts' }], [7]])(
  '%j is no store to ask, and the error says what is',
  (given) => {
    const streams = new KafkaStreams(countingTopology(true), config)
    const refused = expect.objectContaining({
      code: 'QUERY_INVALID',
      message: expect.stringContaining(
        'a store is asked for as keyValueStore(name, { key, value })',
      ),
    }) as Error
    expect(() => streams.store(given as never)).toThrowError(refused)
    expect(() => streams.queryMetadataForKey(given as never, 'a' as never)).toThrowError(refused)
  },
)

test.each([[undefined], [null], [{}], [{ signal: null }], [{ signal: 'SIGTERM' }]])(
  'run(%j) has no signal to stop it, and does not start',
  async (options) => {
    const streams = new KafkaStreams(countingTopology(true), config)
    await expect(streams.run(options as never)).rejects.toMatchObject({
      code: 'CONFIG_INVALID',
      context: { option: 'signal' },
    })
    expect(streams.state).toBe('created')
  },
)

test('start with what is no signal does not start', async () => {
  const streams = new KafkaStreams(countingTopology(true), config)
  const start = streams.start({ signal: 5 as never })
  await expect(start).rejects.toMatchObject({ code: 'CONFIG_INVALID' })
  expect(streams.state).toBe('created')
})

test.each([
  ['statechange', () => undefined],
  ['toString', () => undefined],
  ['stateChange', undefined],
])('on(%j, %j) is refused', (event, listener) => {
  const streams = new KafkaStreams(countingTopology(true), config)
  expect(() => streams.on(event as never, listener as never)).toThrowError(
    expect.objectContaining({
      code: 'CONFIG_INVALID',
      message: expect.stringContaining('one of stateChange, restore'),
    }),
  )
  expect(streams.off(event as never, listener as never)).toBe(streams)
})

test('an instance that never ran closes at once', async () => {
  const states: string[] = []
  const streams = new KafkaStreams(countingTopology(true), config)
  streams.on('stateChange', (now) => states.push(now))
  expect(streams.state).toBe('created')
  await streams.close()
  await streams.closed
  await streams.close()
  expect(states).toEqual(['pending-shutdown', 'not-running'])
  await expect(streams.start()).rejects.toThrow('Streams is not-running: start is not possible')
})

test.each([null, 'now', 5, []])('options %j start and close nothing', async (options) => {
  const streams = new KafkaStreams(countingTopology(true), config)
  const refused = { code: 'CONFIG_INVALID', context: { option: 'options' } }
  await expect(streams.start(options as never)).rejects.toMatchObject(refused)
  await expect(streams.close(options as never)).rejects.toMatchObject(refused)
  expect(streams.state).toBe('created')
  await streams.close()
})

test.each(['yes', null, 1])('a leaveGroup of %j closes nothing', async (leaveGroup) => {
  const streams = new KafkaStreams(countingTopology(true), config)
  await expect(streams.close({ leaveGroup: leaveGroup as never })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    context: { option: 'leaveGroup' },
  })
  expect(streams.state).toBe('created')
  await streams.close()
})

test.each([-1, Number.NaN, '5', null])('a timeout of %j closes nothing', async (timeout) => {
  const streams = new KafkaStreams(countingTopology(true), config)
  await expect(streams.close({ timeout: timeout as number })).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    context: { option: 'timeout' },
  })
  expect(streams.state).toBe('created')
  await streams.close({ timeout: Infinity })
  expect(streams.state).toBe('not-running')
})

test('a listener that was taken off hears nothing', async () => {
  const states: string[] = []
  const listener = (now: string): void => void states.push(now)
  const streams = new KafkaStreams(countingTopology(true), config)
  await streams.on('stateChange', listener).off('stateChange', listener).close()
  expect(states).toEqual([])
})

/** A logger that keeps its lines, with their facts. */
function heard(): { lines: unknown[][]; logger: Logger } {
  const lines: unknown[][] = []
  const hear =
    (level: string) =>
    (...line: unknown[]): void =>
      void lines.push([level, ...line])
  const logger = {
    debug: hear('debug'),
    info: hear('info'),
    warn: hear('warn'),
    error: hear('error'),
  }
  return { lines, logger }
}

test('an instance without brokers says so once, and how often it was when it is closed', async () => {
  const { lines, logger } = heard()
  const streams = new KafkaStreams(countingTopology(false), { ...config, logger })
  const failure = streams.start().catch((error: unknown) => error)
  const attempts = (): number =>
    lines.filter(([, message]) => message === 'A broker cannot be reached').length
  await until(() => attempts() >= 3)
  const warnings = (): unknown[][] => lines.filter(([level]) => level === 'warn')
  const message = 'cannot reach any broker of 127.0.0.1:1, trying again'
  const fields = { reason: 'connect ECONNREFUSED 127.0.0.1:1' }
  expect(warnings()).toEqual([['warn', message, fields]])
  await streams.close()
  await failure
  expect(warnings().slice(1)).toEqual([
    ['warn', expect.stringMatching(/, trying again \(\d+ more in the last 60 s\)$/), fields],
  ])
})

test('changes of state are told to those who want to know', async () => {
  const { lines, logger } = heard()
  await new KafkaStreams(countingTopology(true), { ...config, logger }).close()
  expect(lines).toEqual([
    ['info', 'the state changed', { now: 'pending-shutdown', before: 'created' }],
    ['info', 'the state changed', { now: 'not-running', before: 'pending-shutdown' }],
  ])
})

test('an instance without brokers waits for them, and closes when it is told to', async () => {
  const streams = new KafkaStreams(countingTopology(false), config)
  const failure = streams.start().catch((error: unknown) => error)
  expect(streams.state).toBe('rebalancing')
  expect(() => streams.cleanUp()).toThrow('Streams is rebalancing: cleanUp is not possible')
  await streams.close()
  expect(await failure).toMatchObject({ code: 'STREAMS_STOPPED' })
  await streams.closed
  expect(streams.state).toBe('not-running')
})

test('run ends when its signal aborts', async () => {
  const stop = new AbortController()
  const streams = new KafkaStreams(countingTopology(false), config)
  const running = streams.run({ signal: stop.signal })
  stop.abort()
  await running
  expect(streams.state).toBe('not-running')
})

test('stores in memory need no state directory, and persistent ones do', async () => {
  const disk = new MemoryDisk()
  const ports = { ...systemPorts, disk }
  await using inMemory = new KafkaStreams(countingTopology(false), config, ports)
  void inMemory.start().catch(() => undefined)
  expect(disk.list('/state')).toEqual([])

  await using first = new KafkaStreams(countingTopology(true), config, ports)
  void first.start().catch(() => undefined)
  expect(disk.list('/state')).toEqual(['app'])
  const second = new KafkaStreams(countingTopology(true), config, ports)
  await expect(second.start()).rejects.toMatchObject({ code: 'STATE_DIRECTORY_LOCKED' })
  await expect(second.closed).rejects.toMatchObject({ code: 'STATE_DIRECTORY_LOCKED' })
  expect(second.state).toBe('error')
  expect(() => second.cleanUp()).toThrow(
    expect.objectContaining({ code: 'STATE_DIRECTORY_LOCKED' }),
  )
})

/** A disk on which a container that cannot be looked up holds the lock for so many attempts. */
class SharedDisk extends MemoryDisk {
  refusals: number

  constructor(refusals: number) {
    super()
    this.refusals = refusals
  }

  override lock(path: string): DiskLock {
    this.refusals -= 1
    if (this.refusals < 0) return super.lock(path)
    const directory = '/state/app'
    throw new StreamsError('STATE_DIRECTORY_LOCKED', { directory, pid: 1, holder: 'elsewhere' })
  }
}

test('a state directory that a dead container may hold is waited for, and not for ever', async () => {
  const startOn = (refusals: number) => {
    const clock = new ManualClock()
    const ports = { ...systemPorts, clock, disk: new SharedDisk(refusals) }
    const streams = new KafkaStreams(countingTopology(true), config, ports)
    const failure = streams.start().catch((error: unknown) => error)
    return { clock, ports, streams, failure }
  }
  const freed = startOn(5)
  freed.clock.advance(4_999)
  expect(freed.ports.disk.refusals).toBe(0)
  expect(freed.ports.disk.list('/state/app')).toEqual([])
  freed.clock.advance(1)
  expect(freed.ports.disk.list('/state/app')).toEqual(['kafka-streams-process-metadata'])
  expect(freed.streams.state).toBe('rebalancing')

  const held = startOn(1_000)
  held.clock.advance(20_000)
  expect(await held.failure).toMatchObject({ code: 'STATE_DIRECTORY_LOCKED' })
  await expect(held.streams.closed).rejects.toMatchObject({ code: 'STATE_DIRECTORY_LOCKED' })
  expect(held.streams.state).toBe('error')

  const closed = startOn(1_000)
  closed.clock.advance(1_000)
  await closed.streams.close()
  expect([closed.streams.state, closed.clock.timerCount]).toEqual(['not-running', 0])
  void freed.streams.close()
  await until(() => {
    freed.clock.advance(1_000)
    return freed.streams.state === 'not-running'
  })
})

test('cleanUp deletes the state of tasks, and nothing else', () => {
  const disk = new MemoryDisk()
  for (const path of ['/state/app/0_0/lmdb', '/state/app/notes', '/state/other/0_0'])
    disk.makeDirectory(path)
  new KafkaStreams(countingTopology(true), config, { ...systemPorts, disk }).cleanUp()
  expect(disk.list('/state/app')).toEqual(['kafka-streams-process-metadata', 'notes'])
  expect(disk.list('/state/other')).toEqual(['0_0'])
})

test('before the start nothing is known of others, and nothing is held', async () => {
  const streams = new KafkaStreams(countingTopology(true), config)
  expect(streams.allMetadata()).toEqual([])
  expect(streams.localTasks()).toEqual([])
  expect(() => streams.queryMetadataForKey(counts(true), 'a')).toThrow(
    expect.objectContaining({ code: 'STREAMS_REBALANCING' }),
  )
  const other = { name: 'other', key: serdes.string }
  expect(() => streams.queryMetadataForKey(other, 'a')).toThrow(
    expect.objectContaining({ code: 'STORE_UNKNOWN' }),
  )
  await expect(streams.store(counts(true)).get('a')).rejects.toMatchObject({
    code: 'STREAMS_NOT_STARTED',
  })
})

import { expect, test } from 'vitest'
import { MemoryDisk } from './base/memory-disk.ts'
import { systemPorts } from './config.ts'
import { StreamsBuilder } from './dsl/streams-builder.ts'
import { topic } from './dsl/topic.ts'
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
const config = { applicationId: 'app', brokers: ['127.0.0.1:1'], stateDir: '/state' }

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

test('a listener that was taken off hears nothing', async () => {
  const states: string[] = []
  const listener = (now: string): void => void states.push(now)
  const streams = new KafkaStreams(countingTopology(true), config)
  await streams.on('stateChange', listener).off('stateChange', listener).close()
  expect(states).toEqual([])
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

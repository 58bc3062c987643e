import { expect, test } from 'vitest'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import { serdes } from '../serde/serdes.ts'
import {
  simulatedCluster,
  type SimulatedCluster,
  type SimulatedClusterOptions,
} from './simulated-cluster.ts'

const invalid = (option: string) => ({ code: 'CONFIG_INVALID', context: { option } })

test.each([
  [null, 'options'],
  [7, 'options'],
  [{ seed: '7' }, 'seed'],
  [{ seed: 1.5 }, 'seed'],
  [{ startTime: Number.NaN }, 'startTime'],
  [{ trace: 'trace.txt' }, 'trace'],
])('what is no option of a cluster is refused (%j)', async (options, option) => {
  const opened = simulatedCluster(options as unknown as SimulatedClusterOptions)
  await expect(opened).rejects.toMatchObject(invalid(option))
})

test.each([Number.NaN, -1, Number.POSITIVE_INFINITY, '5'])(
  'time that never ends, or is none, is refused (%s)',
  async (ms) => {
    await using cluster = await simulatedCluster()
    await expect(cluster.advance(ms as number)).rejects.toMatchObject(invalid('ms'))
    const waited = cluster.until(() => false, { withinMs: ms as number })
    await expect(waited).rejects.toMatchObject(invalid('withinMs'))
  },
)

test('a fault for a machine that is not there is refused', async () => {
  await using cluster = await simulatedCluster()
  const builder = new StreamsBuilder()
  builder.stream(topic('lines', { value: serdes.string }))
  cluster.instance('a', builder.build(), { applicationId: 'app' })
  for (const fault of [
    () => cluster.cut('b'),
    () => cluster.cut('a', 'b'),
    () => cluster.isolate('b'),
    () => cluster.isolate('a', 'b'),
  ])
    expect(fault).toThrow('it must be a machine (broker, client, a), not "b"')
  cluster.cut('a')
  cluster.isolate('a')
  cluster.isolate('a', 'client')
  cluster.heal()
})

const lines = topic('lines', { key: serdes.string, value: serdes.string })
const program = () => {
  const builder = new StreamsBuilder()
  builder.stream(lines)
  return builder.build()
}
const line = (more: object): never => [{ key: 'k', value: 'v', ...more }] as never

const wrongArguments: readonly [
  option: string,
  given: (cluster: SimulatedCluster) => Promise<unknown>,
][] = [
  ['topic', (cluster) => cluster.createTopic(undefined as never, { partitions: 1 })],
  ['topic', (cluster) => cluster.createTopic('lines' as never, { partitions: 1 })],
  ['topic', (cluster) => cluster.createTopic({ name: 'no name' }, { partitions: 1 })],
  ['options', (cluster) => cluster.createTopic(lines, undefined as never)],
  ['partitions', (cluster) => cluster.createTopic(lines, {} as never)],
  ['partitions', (cluster) => cluster.createTopic(lines, { partitions: 0 })],
  ['configs', (cluster) => cluster.createTopic(lines, { partitions: 1, configs: 'x' as never })],
  ['records', (cluster) => cluster.produce(lines, undefined as never)],
  ['records', (cluster) => cluster.produce(lines, 'text' as never)],
  ['records', (cluster) => cluster.produce(lines, { key: 'k', value: 'v' } as never)],
  ['record', (cluster) => cluster.produce(lines, ['v' as never])],
  ['headers', (cluster) => cluster.produce(lines, line({ headers: { a: 'b' } }))],
  ['timestamp', (cluster) => cluster.produce(lines, line({ timestamp: '5' }))],
  ['condition', (cluster) => cluster.until(true as never)],
  ['options', (cluster) => cluster.until(() => true, null as never)],
  ['work', (cluster) => cluster.run((() => 1) as never)],
  ['name', async (cluster) => cluster.instance('', program(), { applicationId: 'app' })],
  ['name', async (cluster) => cluster.instance(5 as never, program(), { applicationId: 'app' })],
  ['config', async (cluster) => cluster.instance('a', program(), undefined as never)],
  ['applicationId', async (cluster) => cluster.instance('a', program(), {} as never)],
  [
    'commitInterval',
    async (cluster) =>
      cluster.instance('a', program(), { applicationId: 'app', commitInterval: 'often' as never }),
  ],
]

test.each(wrongArguments)('%s that is none is refused at once (%#)', async (option, given) => {
  await using cluster = await simulatedCluster()
  await cluster.createTopic({ name: 'lines' }, { partitions: 1 })
  await expect(given(cluster)).rejects.toMatchObject(invalid(option))
})

test('topics and topologies that are none are refused', async () => {
  await using cluster = await simulatedCluster()
  const refused = { code: 'TOPOLOGY_INVALID' }
  await expect(cluster.produce('lines' as never, [])).rejects.toMatchObject(refused)
  await expect(cluster.read(undefined as never)).rejects.toMatchObject(refused)
  const config = { applicationId: 'app' }
  expect(() => cluster.instance('a', 'program' as never, config)).toThrow(
    expect.objectContaining(refused),
  )
  // Its name is free still.
  cluster.instance('a', program(), config)
})

test('an instance that dies while it stops has stopped', async () => {
  await using cluster = await simulatedCluster()
  await cluster.createTopic(lines, { partitions: 1 })
  const a = cluster.instance('a', program(), { applicationId: 'app' })
  a.start()
  await cluster.until(() => a.state === 'running')
  const stopped = a.stop()
  a.kill()
  await stopped
  expect(a.state).toBe('gone')
  a.start()
  await cluster.until(() => a.state === 'running')
})

import { expect, test } from 'vitest'
import { StreamsBuilder } from '../dsl/streams-builder.ts'
import { topic } from '../dsl/topic.ts'
import { serdes } from '../serde/serdes.ts'
import { simulatedCluster, type SimulatedClusterOptions } from './simulated-cluster.ts'

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

/** Where an application begins in topics for which it has no offset. */
import { expect, test } from 'vitest'
import {
  StreamsBuilder,
  serdes,
  topic,
  type OffsetReset,
  type StreamsConfig,
} from '../../src/index.ts'
import { TestCluster } from './test-cluster.ts'
import { until } from './until.ts'

/** An instance that shows the lines it gets. */
function reader(
  cluster: TestCluster,
  { offsetReset, ...config }: Partial<StreamsConfig> & { ofTopic?: OffsetReset | undefined },
) {
  const { ofTopic, ...rest } = config
  const seen: string[] = []
  const builder = new StreamsBuilder()
  builder
    .stream(topic(cluster.name('lines'), { value: serdes.string, offsetReset: ofTopic }))
    .forEach((line) => seen.push(line))
  return { seen, streams: cluster.streams(builder.build(), 'a', { offsetReset, ...rest }) }
}

async function linesOfHours(cluster: TestCluster): Promise<void> {
  await cluster.createTopic('lines', 1, { 'message.timestamp.type': 'CreateTime' })
  const now = Date.now()
  for (const hours of [5, 3, 1]) {
    const line = Buffer.from(`${hours} h ago`)
    cluster.producer.send(cluster.name('lines'), 0, null, line, now - hours * 3_600_000, [])
  }
  await cluster.producer.flush()
}

test.each<[string, { offsetReset?: OffsetReset; ofTopic?: OffsetReset }, string[]]>([
  ['all, when nothing is stated', {}, ['5 h ago', '3 h ago', '1 h ago']],
  ['nothing, from the end', { offsetReset: 'latest' }, []],
  [
    'as much as a duration says',
    { offsetReset: { byDuration: 4 * 3_600_000 } },
    ['3 h ago', '1 h ago'],
  ],
  ['nothing, when all is older than the duration', { ofTopic: { byDuration: 0 } }, []],
  [
    'what the topic says rather than the configuration',
    { offsetReset: 'none', ofTopic: { byDuration: 2 * 3_600_000 } },
    ['1 h ago'],
  ],
])('reads %s', async (_name, resets, expected) => {
  await using cluster = await TestCluster.start()
  await linesOfHours(cluster)
  const { seen, streams } = reader(cluster, resets)
  await streams.start()
  // The end may be asked for only after the first of these.
  await until(async () => {
    await cluster.write('lines', ['new'])
    return seen.includes('new')
  })

  expect(new Set(seen)).toEqual(new Set([...expected, 'new']))
})

test('stops when the group has no offset and none may be chosen, and goes on when it has', async ({
  signal,
}) => {
  await using cluster = await TestCluster.start()
  await linesOfHours(cluster)
  const refused = reader(cluster, { offsetReset: 'none' })
  await expect(refused.streams.start({ signal })).rejects.toMatchObject({
    code: 'OFFSET_MISSING',
    message: expect.stringContaining(`${cluster.name('lines')}-0`) as string,
  })
  await refused.streams.close()

  const first = reader(cluster, {})
  await first.streams.start()
  await until(() => first.seen.length === 3)
  await first.streams.close()
  await cluster.write('lines', ['new'])
  const later = reader(cluster, { offsetReset: 'none' })
  await later.streams.start()
  await until(() => later.seen.length > 0)
  expect(later.seen).toEqual(['new'])
})

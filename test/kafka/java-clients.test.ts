/** The Java clients on the dev broker. Apache Kafka says what the transcript must be. */
import { describe, expect, test } from 'vitest'
import { TestCluster } from '../integration/test-cluster.ts'
import { runJava } from './java-programs.ts'

const transcript = [
  'created once more: TopicExistsException',
  'described: 3 partitions',
  'cleanup.policy: compact',
  'grown: 4 partitions',
  'deleted; described: UnknownTopicOrPartitionException',
  'none: written up to offset 499',
  'gzip: written up to offset 499',
  'snappy: written up to offset 499',
  'lz4: written up to offset 499',
  'zstd: written up to offset 499',
  'none: 500 records are equal',
  'gzip: 500 records are equal',
  'snappy: 500 records are equal',
  'lz4: 500 records are equal',
  'zstd: 500 records are equal',
  'two members share: 2 and 2 partitions',
  'group: Stable, 2 members',
  'one member left: 4 partitions',
  'read: 500 different records',
  'committed: 500',
  'goes on with: [record 500]',
  'earliest: 50',
  'latest: 126',
  'by time: 50',
  'the group is deleted: true',
]

describe.each([
  { broker: 'Apache Kafka', start: () => TestCluster.start() },
  { broker: 'the dev broker', start: () => TestCluster.onDevBroker() },
])('on $broker', ({ start }) => {
  test(
    'administration, codecs and groups of the Java clients work',
    { timeout: 120_000 },
    async ({ signal }) => {
      await using cluster = await start()
      expect(await runJava('Clients', [cluster.address, cluster.name('')], signal)).toEqual(
        transcript,
      )
    },
  )
})

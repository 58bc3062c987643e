/** The leader epochs that Kafka Streams and Millpond commit beside offsets. */
import { describe, expect, test } from 'vitest'
import { offsetFetch } from '../../src/protocol/messages/9-offset-fetch.ts'
import { TestCluster } from '../integration/test-cluster.ts'
import { KafkaCluster } from '../peers/kafka-cluster.ts'
import { Tally } from './tally.ts'

/** A broker starts twice, and Java programs start slowly. */
const slow = { timeout: 180_000 }

/** A cluster whose broker can be restarted, and what is to be closed after it. */
interface Started {
  readonly cluster: TestCluster
  readonly kafka?: KafkaCluster
}

async function startKafka(): Promise<Started> {
  const version = process.env['MILLPOND_TEST_KAFKA_VERSION']
  const kafka = await KafkaCluster.start({ heapMb: 512, ...(version && { version }) })
  const cluster = TestCluster.onKafka(kafka.bootstrap[0] ?? '', () => kafka.restart(0))
  return { cluster, kafka }
}

/** All that a group has committed of the input: partition, offset, leader epoch, metadata. */
async function commits({ cluster, applicationId }: Tally): Promise<unknown[]> {
  const answer = await cluster.client.request(
    offsetFetch,
    { groups: [{ groupId: applicationId, topics: null }], requireStable: true },
    { coordinatorOf: applicationId },
  )
  const [group] = answer.groups
  return (group?.topics ?? [])
    .flatMap(({ name, partitions }) =>
      partitions.map((row) => [
        `${cluster.own([name])[0] ?? name}-${row.partitionIndex}`,
        row.committedOffset,
        row.committedLeaderEpoch,
        row.metadata,
      ]),
    )
    .filter(([partition]) => /^(?:lines|amounts)-/.test(String(partition)))
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1))
}

describe.each([{ broker: 'Apache Kafka', start: startKafka }])('on $broker', ({ start }) => {
  test.each(['at-least-once', 'exactly-once'] as const)(
    'both commit the epoch of what they have read last in each partition, %s',
    slow,
    async (guarantee) => {
      const { cluster: started, kafka } = await start()
      await using _kafka = kafka
      await using cluster = started
      const { signal } = new AbortController()
      await Tally.createInput(cluster)
      const [java, millpond] = ['java', 'millpond'].map(
        (name) => new Tally(cluster, name, 0, 'classic', guarantee),
      ) as [Tally, Tally]
      await java.write(
        [
          ['to be', 1_000],
          ['or not', 2_000],
          ['to be', 3_000],
        ],
        [['ann', 1, 1_000]],
      )
      await cluster.restartBroker()
      await java.write(
        [['that is', 4_000]],
        [
          ['bob', 2, 2_000],
          ['eve', 3, 3_000],
          ['joe', 4, 4_000],
        ],
      )

      await java.runJava('java', signal)
      const instance = millpond.millpond('millpond')
      await instance.start()
      await millpond.processed(signal)
      await instance.close()
      const ofJava = await commits(java)
      expect(await commits(millpond)).toEqual(ofJava)
      const epochs = new Map(
        ofJava.map((row) => [(row as unknown[])[0], Number((row as unknown[])[2])]),
      )
      expect([...epochs.keys()]).toEqual(['amounts-0', 'lines-0', 'lines-1', 'lines-2'])
      expect([epochs.get('lines-1'), epochs.get('lines-2')]).toEqual([0, 0])
      expect(epochs.get('lines-0')).toBeGreaterThan(0)
    },
  )
})

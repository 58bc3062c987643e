/** Transactional Java clients on the dev broker. Apache Kafka says what the transcript must be. */
import { describe, expect, test } from 'vitest'
import { TestCluster } from '../integration/test-cluster.ts'
import { runJava } from './java-programs.ts'

const transcript = [
  'open: Ongoing, 2 partitions',
  'stable: true',
  'listed: [Ongoing]',
  'producers: 1',
  'ended: CompleteAbort',
  'committed: 30 different records',
  'all: 60 different records',
  'aborted, offsets: 0',
  'committed, offsets: 2',
  'copied: 30 different records',
  'the first: ProducerFencedException',
  'the second: ProducerFencedException',
  'rivals: 31 different records',
  'the slow one: InvalidTxnStateException',
  'in time: 32 different records',
  'too long: KafkaException',
]

/** Without an epoch for each transaction, one that comes too late is like one that was taken over. */
const transcript1 = transcript.map((line) =>
  line.startsWith('the slow one') ? 'the slow one: ProducerFencedException' : line,
)

describe.each([
  { broker: 'Apache Kafka', start: () => TestCluster.start(), expected: transcript },
  { broker: 'the dev broker', start: () => TestCluster.onDevBroker(), expected: transcript },
  {
    broker: 'the dev broker with transactions of version 1',
    start: () => TestCluster.onDevBroker({ transactionVersion: 1 }),
    expected: transcript1,
  },
])('on $broker', ({ start, expected }) => {
  test(
    'transactions of the Java clients commit, abort, fence and time out',
    { timeout: 180_000 },
    async ({ signal }) => {
      await using cluster = await start()
      const args = [cluster.address, cluster.name('')]
      expect(await runJava('Transactions', args, signal)).toEqual(expected)
    },
  )
})

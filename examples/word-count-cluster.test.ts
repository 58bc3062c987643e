/**
 * Tests what happens to a running application when one of its instances dies: a Kafka cluster and two
 * instances in simulated time, the same in each run: `npx tsx --test examples/word-count-cluster.test.ts`.
 */
import { strictEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { minutes, seconds } from 'millpond'
import { simulatedCluster } from 'millpond/testing'
import { lines, wordCount, wordCounts } from './word-count.ts'

await test('the counts are at the other instance after one has died', async () => {
  await using cluster = await simulatedCluster({ seed: 7 })
  await cluster.createTopic(lines, { partitions: 4 })
  const config = { applicationId: 'word-count', commitInterval: seconds(1) }
  const a = cluster.instance('a', wordCount(), config)
  const b = cluster.instance('b', wordCount(), config)
  a.start()
  b.start()
  await cluster.until(() => a.state === 'running' && b.state === 'running')
  await cluster.produce(lines, [
    { key: null, value: 'to be or not to be' },
    { key: null, value: 'that is the question' },
  ])
  await cluster.advance(seconds(10))

  a.kill()
  // The group notices by the session timeout, and gives the tasks to the other.
  await cluster.advance(minutes(1))
  await cluster.until(() => b.state === 'running')
  strictEqual(await b.streams.store(wordCounts).get('be'), 2)
  strictEqual(await b.streams.store(wordCounts).get('question'), 1)
})

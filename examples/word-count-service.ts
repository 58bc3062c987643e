/**
 * Runs the word count and answers questions about it:
 *
 *     npx millpond broker --port 9092                      # or any Kafka, with a topic text-lines
 *     PORT=7070 npx tsx examples/word-count-service.ts     # and once more with PORT=7071
 *     curl http://localhost:7070/v1/stores/word-counts/keys/kafka
 */
import { shutdownSignal } from 'millpond'
import { serve } from 'millpond/server'
import { wordCount, wordCounts } from './word-count.ts'

const port = Number(process.env['PORT'] ?? 7070)
await using service = await serve(wordCount(), {
  applicationId: 'word-count',
  brokers: ['localhost:9092'],
  stateDir: `./state/${port}`,
  http: { port },
  expose: { 'word-counts': { operations: ['get', 'range'] } },
  signal: shutdownSignal(),
})

// The whole application: the question goes to the instance that owns the word.
console.log('kafka:', (await service.store(wordCounts).get('kafka')) ?? 0)
console.log(`GET ${service.url}/v1/stores/word-counts/keys/kafka`)
await service.closed

/**
 * Uses several cores in one process: each worker is a thread, with a part of the partitions.
 *
 *     npx millpond broker --port 9092          # or any Kafka, with a topic documents of several partitions
 *     npx tsx examples/fingerprints.ts
 */
import { KafkaStreams, type StreamsConfig } from 'millpond'

/** An instance with that many workers. */
export function fingerprinting(config: StreamsConfig): KafkaStreams {
  return new KafkaStreams(new URL('./fingerprints-topology.js', import.meta.url), {
    // A worker that dies is replaced; the others go on meanwhile.
    onUncaughtError: 'replace-worker',
    ...config,
  })
}

if (process.argv[1]?.endsWith('fingerprints.ts') === true) {
  const { shutdownSignal } = await import('millpond')
  const streams = fingerprinting({
    applicationId: 'fingerprints',
    brokers: ['localhost:9092'],
    workers: 2,
  })
  await streams.run({ signal: shutdownSignal() })
}

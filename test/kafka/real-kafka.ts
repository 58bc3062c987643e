import type { TestProject } from 'vitest/node'
import { KafkaCluster } from '../peers/kafka-cluster.ts'

/**
 * Vitest's global setup of a run on a real Kafka: one broker of the project's version, for all its
 * tests.
 */
export async function setup({ config }: TestProject): Promise<() => Promise<void>> {
  const version = config.env['MILLPOND_TEST_KAFKA_VERSION']
  const cluster = await KafkaCluster.start({ version, heapMb: 512 })
  config.env['MILLPOND_TEST_KAFKA'] = cluster.bootstrap[0]
  return () => cluster.close()
}

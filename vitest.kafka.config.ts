/** `npm run test:kafka`: see docs/internals/testing.md. */
import { configDefaults, defineConfig, type TestProjectInlineConfiguration } from 'vitest/config'
import { kafkaUnavailable } from './test/peers/kafka-cluster.ts'
import base, { bothProtocols, notEngine } from './vitest.config.ts'

/** What is about our engine on a broker. */
const engine = ['test/integration/**/*.test.ts']

/** What older brokers have to prove: the protocol, and instances that come and go. */
const shorter = [
  'test/integration/client.test.ts',
  'test/integration/client-transactions.test.ts',
  'test/integration/streams.test.ts',
  'test/integration/exactly-once.test.ts',
]

/** Processes that are killed one after the other take too long for every run. */
const kills = ['test/integration/exactly-once-kill.test.ts', 'test/integration/worker-kill.test.ts']

const streamsProtocol = 'test/integration/streams-protocol.test.ts'

/** The tests on one release: they share a broker that is there for this run. */
function onKafka(
  version: string,
  order: number,
  include: readonly string[],
  setup: readonly string[] = [],
  groupProtocol: 'classic' | 'streams' = 'classic',
): TestProjectInlineConfiguration {
  return {
    resolve: base.resolve,
    oxc: base.oxc,
    test: {
      name: `kafka-${version}${groupProtocol === 'classic' ? '' : `-${groupProtocol}`}`,
      include: [...include],
      exclude: [...configDefaults.exclude, ...notEngine],
      env: {
        MILLPOND_TEST_KAFKA_VERSION: version,
        MILLPOND_TEST_GROUP_PROTOCOL: groupProtocol,
      },
      globalSetup: ['test/kafka/real-kafka.ts', ...setup],
      sequence: { groupOrder: order },
      server: base.test?.server,
      testTimeout: 40_000,
      hookTimeout: 60_000,
      maxWorkers: 2,
      maxConcurrency: 2,
    },
  }
}

const missing = kafkaUnavailable()
if (missing !== undefined) {
  if (process.env['MILLPOND_REQUIRE_KAFKA'] === '1') throw new Error(missing)
  console.log(`SKIPPED: nothing was tested on a real Kafka. ${missing}`)
}

const projects = [
  onKafka('4.4.0', 0, [...engine, 'test/kafka/**/*.test.ts'], ['test/kafka/java-programs.ts']),
  onKafka('4.2.1', 1, shorter),
  onKafka('3.9.2', 2, shorter),
  onKafka('4.4.0', 3, [...bothProtocols, ...kills], [], 'streams'),
  onKafka('4.2.1', 4, [...shorter, streamsProtocol], [], 'streams'),
]

export default defineConfig({
  test: missing === undefined ? { projects } : { include: [], passWithNoTests: true },
})

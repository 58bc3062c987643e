import {
  StreamsBuilder,
  keyValueStore,
  serdes,
  topic,
  type StreamsConfig,
  type Topology,
} from '../../src/index.ts'

/** What both an instance in a process of its own and the one that comes after it are told. */
export interface DrainSettings {
  readonly brokers: readonly string[]
  readonly applicationId: string
  readonly stateDir: string
  readonly groupProtocol: 'classic' | 'streams'
  readonly processingGuarantee: 'at-least-once' | 'exactly-once'
  /** Its tasks stay with it when it ends. */
  readonly groupInstanceId?: string
  readonly input: string
  readonly output: string
}

export const drainCounts = keyValueStore('counts', { key: serdes.string, value: serdes.long })

/** Copies what comes in, and counts it by key. */
export function drainTopology({ input, output }: DrainSettings): Topology {
  const text = { key: serdes.string, value: serdes.string }
  const builder = new StreamsBuilder()
  const lines = builder.stream(topic(input, text))
  lines.groupByKey().count({ store: drainCounts })
  lines.to(topic(output, text))
  return builder.build()
}

/** Nothing is committed before the end, and a member that is silent would be waited for till the test is over. */
export function drainConfig({
  input: _input,
  output: _output,
  ...settings
}: DrainSettings): StreamsConfig {
  return {
    ...settings,
    commitInterval: 300_000,
    transactionTimeout: 600_000,
    sessionTimeout: 120_000,
    heartbeatInterval: 300,
    logger: 'silent',
  }
}

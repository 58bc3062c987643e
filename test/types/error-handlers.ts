/** Handlers of errors that must compile. Checked by `tsc`, never run. */
import {
  KafkaStreams,
  type DeadLetterRecord,
  type ErrorHandlerContext,
  type ErrorHandling,
  type ProcessingErrorHandler,
  type ProductionErrorHandler,
  type StreamsConfig,
  type Topology,
  type UncaughtErrorHandler,
} from 'millpond'
import { TopologyTestDriver } from 'millpond/testing'
import { same } from './same.ts'

const words: ErrorHandling = {
  onDeserializationError: 'continue',
  onProcessingError: 'fail',
  onProductionError: 'continue',
  deadLetterQueueTopic: 'dead-letters',
}

function letterOf(context: ErrorHandlerContext, error: unknown): DeadLetterRecord {
  const { topic = 'none', partition, offset, timestamp, headers } = context
  const value = Buffer.from(`${topic}-${partition}@${offset}: ${String(error)}`)
  return { topic: 'mine', key: context.sourceRawKey, value, timestamp, headers }
}

const processing: ProcessingErrorHandler = (context, error) => {
  same<typeof error, unknown>(true)
  same<typeof context.taskId, string | undefined>(true)
  if (context.record === undefined) return 'fail'
  same<typeof context.record.value, unknown>(true)
  return { result: 'continue', deadLetterRecords: [letterOf(context, error)] }
}

const production: ProductionErrorHandler = ({ origin, record }) => {
  same<typeof origin, 'key' | 'value' | 'delivery'>(true)
  same<typeof record.topic, string>(true)
  return origin === 'delivery' ? 'retry' : { result: 'continue' }
}

const uncaught: UncaughtErrorHandler = (error) =>
  error.message === '' ? 'replace-worker' : 'stop-application'

export function instance(topology: Topology, config: StreamsConfig): KafkaStreams {
  new TopologyTestDriver(topology, words).close()
  return new KafkaStreams(topology, {
    ...config,
    ...words,
    onDeserializationError: ({ node }) => (node === 'orders' ? 'fail' : 'continue'),
    onProcessingError: processing,
    onProductionError: production,
    onUncaughtError: uncaught,
  })
}

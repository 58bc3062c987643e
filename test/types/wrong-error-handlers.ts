/** Handlers of errors that must not compile: each error below is expected. Checked by `tsc`, never run. */
import type { ErrorHandling, StreamsConfig } from 'millpond'

const least: StreamsConfig = { applicationId: 'a', brokers: ['localhost:9092'] }

export const wrong: (ErrorHandling | StreamsConfig)[] = [
  // @ts-expect-error no such word
  { onProcessingError: 'skip' },
  // @ts-expect-error reading again gives the same
  { onDeserializationError: () => 'retry' },
  // @ts-expect-error a step is not tried again
  { onProcessingError: () => ({ result: 'retry' }) },
  // @ts-expect-error a handler answers at once
  { onProcessingError: async () => 'continue' },
  // @ts-expect-error a handler has an answer
  { onProductionError: () => undefined },
  // @ts-expect-error a letter has a topic
  { onProductionError: () => ({ result: 'fail', deadLetterRecords: [{ key: null }] }) },
  // @ts-expect-error one topic
  { deadLetterQueueTopic: ['a', 'b'] },
  // @ts-expect-error in the words of workers and instances
  { ...least, onUncaughtError: 'replace-thread' },
  // @ts-expect-error the error is no context
  { ...least, onUncaughtError: ({ topic }) => (topic === '' ? 'stop-instance' : 'replace-worker') },
]

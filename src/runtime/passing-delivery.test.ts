import { expect, test } from 'vitest'
import { StreamsError } from '../errors.ts'
import { isPassingDelivery } from './passing-delivery.ts'

const refused = (error: string, kafkaRetriable: boolean): StreamsError =>
  new StreamsError('KAFKA_ERROR', { api: 'Produce', subject: 't-0', error, kafkaRetriable })

const failed = (cause?: unknown): StreamsError =>
  new StreamsError('DELIVERY_FAILED', { topic: 't', partition: 0 }, { cause })

/** As a task manager names its task, and a step itself. */
const named = (cause: StreamsError): StreamsError =>
  new StreamsError(cause.code, { ...cause.context, task: '0_1' }, { cause })
const wrapped = (cause: StreamsError): StreamsError =>
  new StreamsError('PROCESSING_FAILED', { node: 'node' }, { cause })

const timedOut = new StreamsError('REQUEST_TIMEOUT', { api: 'Produce', broker: 'b', timeoutMs: 1 })

test.each([
  ['that was not acknowledged in time', failed(timedOut)],
  ['to a broker that is not ready', failed(refused('NOT_ENOUGH_REPLICAS', true))],
  ['of a producer that the broker forgot', failed(refused('OUT_OF_ORDER_SEQUENCE_NUMBER', false))],
  ['that a task met when it sent the next record', named(failed(timedOut))],
  ['that a step met, in a task', named(wrapped(failed(refused('UNKNOWN_PRODUCER_ID', false))))],
])('a delivery %s can be made anew', (_what, error) => {
  expect(isPassingDelivery(error)).toBe(true)
})

test.each([
  ['a record that the broker refuses', failed(refused('INVALID_RECORD', false))],
  ['the same, named for its task', named(failed(refused('TOPIC_AUTHORIZATION_FAILED', false)))],
  ['a delivery without a reason', failed()],
  ['a request of something else that timed out', wrapped(timedOut)],
  ['what is no error', undefined],
])('%s cannot', (_what, error) => {
  expect(isPassingDelivery(error)).toBe(false)
})

test('an error that is its own cause ends', () => {
  const error = failed()
  error.cause = error
  expect(isPassingDelivery(error)).toBe(false)
})

import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { listTransactions } from '../protocol/messages/66-list-transactions.ts'
import type { AdminRequestOptions } from './admin-request.ts'
import type { KafkaClient } from './kafka-client.ts'
import { canPass, kafkaFailure } from './kafka-failure.ts'
import { TransactionCoordinator } from './transaction-coordinator.ts'

/** First version with a pattern (Kafka 4.1). */
const patternVersion = 2

/**
 * The transactional ids that begin so and have a transaction open, of all brokers that answer: one that is
 * away is passed over. Needs brokers of Kafka 3.0 or newer; older ones reject with
 * `PROTOCOL_UNSUPPORTED_VERSION`.
 */
export async function openTransactions(
  client: KafkaClient,
  prefix: string,
  options: AdminRequestOptions = {},
): Promise<string[]> {
  const { timeoutMs, signal } = options
  // The names that are used here have nothing else that means something in a pattern.
  const transactionalIdPattern = `${prefix.replaceAll('.', '\\.')}.*`
  const listed = await Promise.all(
    [...client.nodes.keys()].map(async (node) => {
      try {
        const response = await client.request(
          listTransactions,
          (version) => ({
            stateFilters: ['Ongoing'],
            producerIdFilters: [],
            ...(version >= patternVersion && { transactionalIdPattern }),
          }),
          { node },
          {
            retry: 'none',
            ...(timeoutMs !== undefined && { timeoutMs }),
            ...(signal && { signal }),
          },
        )
        if (response.errorCode === errorCode.NONE) return response.transactionStates
        if (kafkaError(response.errorCode).retriable) return []
        const subject = `node ${node}`
        throw kafkaFailure(listTransactions.name, response.errorCode, { subject })
      } catch (error) {
        if (canPass(error)) return []
        throw error
      }
    }),
  )
  const ids = listed.flat().map(({ transactionalId }) => transactionalId)
  return ids.filter((id) => id.startsWith(prefix))
}

/**
 * Fences whoever has the transactional id, and has what is open under it aborted: returns once that has
 * begun. Java: Admin.fenceProducers.
 */
export function fenceProducer(
  client: KafkaClient,
  transactionalId: string,
  { transactionTimeoutMs, signal }: { transactionTimeoutMs: number; signal?: AbortSignal },
): Promise<void> {
  return new TransactionCoordinator(client, transactionalId).abandon(transactionTimeoutMs, signal)
}

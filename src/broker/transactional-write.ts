/** Whether a producer may write to partitions (kafka.server.AddPartitionsToTxnManager). */
import type { KafkaErrorName } from '../protocol/error-codes.ts'
import type { TopicPartition } from './partition-set.ts'
import type { TransactionCoordinator } from './transaction-coordinator.ts'
import type { ProducerIdentity } from './transaction.ts'

export interface TransactionalWrite {
  readonly partitions: readonly TopicPartition[]
  /** The write makes the partitions part of the transaction; before KIP-890 they must be already. */
  readonly adds: boolean
  /** Whether the client knows TRANSACTION_ABORTABLE. */
  readonly knowsAbortable: boolean
}

/**
 * What keeps the producer from writing to each of the partitions; undefined for those that are part
 * of its transaction. The coordinator is asked each time: a log in which the transaction is open does
 * not know yet that it is being ended.
 */
export function writeProblems(
  transactions: TransactionCoordinator,
  producer: ProducerIdentity & { readonly transactionalId: string },
  { partitions, adds, knowsAbortable }: TransactionalWrite,
): (KafkaErrorName | undefined)[] {
  const { transactionalId } = producer
  if (adds) {
    const error = transactions.addPartitions(transactionalId, producer, partitions)
    return partitions.map(() => errorOfWrite(error, knowsAbortable))
  }
  return partitions.map((partition) =>
    errorOfWrite(transactions.verify(transactionalId, producer, partition), knowsAbortable),
  )
}

function errorOfWrite(error: KafkaErrorName, knowsAbortable: boolean): KafkaErrorName | undefined {
  if (error === 'NONE') return undefined
  // What leaders of partitions have always told of an old epoch.
  if (error === 'PRODUCER_FENCED') return 'INVALID_PRODUCER_EPOCH'
  if (error === 'TRANSACTION_ABORTABLE' && !knowsAbortable) return 'INVALID_TXN_STATE'
  return error
}

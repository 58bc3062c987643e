import { assert } from '../base/assert.ts'

/** Where a transactional id is; the names are what DescribeTransactions tells. */
export type TransactionState =
  | 'Empty'
  | 'Ongoing'
  | 'PrepareCommit'
  | 'PrepareAbort'
  | 'CompleteCommit'
  | 'CompleteAbort'

export type TransactionEvent = 'initialized' | 'added' | 'committed' | 'aborted' | 'completed'

/**
 * The states by their numbers in the log. Kafka has two more (6 `Dead`, 7 `PrepareEpochFence`), which
 * it never writes.
 */
export const transactionStates: readonly TransactionState[] = [
  'Empty',
  'Ongoing',
  'PrepareCommit',
  'PrepareAbort',
  'CompleteCommit',
  'CompleteAbort',
]

/** With transactions of version 2 a producer may abort what has not begun, to get a new epoch. */
const nextState: Record<
  TransactionState,
  Record<TransactionEvent, TransactionState | 'illegal'>
> = {
  Empty: {
    initialized: 'Empty',
    added: 'Ongoing',
    committed: 'illegal',
    aborted: 'PrepareAbort',
    completed: 'illegal',
  },
  Ongoing: {
    initialized: 'illegal',
    added: 'Ongoing',
    committed: 'PrepareCommit',
    aborted: 'PrepareAbort',
    completed: 'illegal',
  },
  PrepareCommit: {
    initialized: 'illegal',
    added: 'illegal',
    committed: 'illegal',
    aborted: 'illegal',
    completed: 'CompleteCommit',
  },
  PrepareAbort: {
    initialized: 'illegal',
    added: 'illegal',
    committed: 'illegal',
    aborted: 'illegal',
    completed: 'CompleteAbort',
  },
  CompleteCommit: {
    initialized: 'Empty',
    added: 'Ongoing',
    committed: 'illegal',
    aborted: 'PrepareAbort',
    completed: 'illegal',
  },
  CompleteAbort: {
    initialized: 'Empty',
    added: 'Ongoing',
    committed: 'illegal',
    aborted: 'PrepareAbort',
    completed: 'illegal',
  },
}

/** The state after an event; one that cannot happen in this state is a bug. */
export function nextTransactionState(
  state: TransactionState,
  event: TransactionEvent,
): TransactionState {
  const next = nextState[state][event]
  assert(next !== 'illegal', `a transaction that is ${state} is not ${event}`)
  return next
}

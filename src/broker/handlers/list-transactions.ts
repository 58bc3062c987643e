import { errorCode } from '../../protocol/error-codes.ts'
import type { listTransactions } from '../../protocol/messages/66-list-transactions.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'
import { transactionStates } from '../transaction-state.ts'

type Request = RequestOf<typeof listTransactions>
type Response = ResponseInputOf<typeof listTransactions>

/** The names by which clients may filter; no transaction here is ever in one of the last two. */
const stateNames: readonly string[] = [...transactionStates, 'Dead', 'PrepareEpochFence']

/** Lists the transactional ids that pass all filters. */
export function handleListTransactions(request: Request, { broker }: RequestContext): Response {
  const pattern = wholePattern(request.transactionalIdPattern)
  if (pattern === 'invalid')
    return {
      errorCode: errorCode.INVALID_REGULAR_EXPRESSION,
      unknownStateFilters: [],
      transactionStates: [],
    }
  const { stateFilters, producerIdFilters, durationFilter } = request
  const unknownStateFilters = stateFilters.filter((name) => !stateNames.includes(name))
  const nowMs = broker.clock.now()
  // Who asks for states that do not exist does not ask for all.
  const found = [...broker.transactions.all()].filter(
    ([transactionalId, { state, producerId, startedAtMs }]) =>
      (stateFilters.length === 0 || stateFilters.includes(state)) &&
      (producerIdFilters.length === 0 || producerIdFilters.includes(producerId)) &&
      (durationFilter < 0 || nowMs - startedAtMs > durationFilter) &&
      pattern.test(transactionalId),
  )
  return {
    errorCode: errorCode.NONE,
    unknownStateFilters,
    transactionStates: found.map(([transactionalId, { state, producerId }]) => ({
      transactionalId,
      producerId,
      transactionState: state,
    })),
  }
}

function wholePattern(text: string | null): RegExp | 'invalid' {
  try {
    return text === null || text === '' ? /^/ : new RegExp(`^(?:${text})$`, 'u')
  } catch {
    return 'invalid'
  }
}

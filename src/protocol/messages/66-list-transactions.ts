import { array, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** The transactional ids of a coordinator; empty filters let everything through. */
export const listTransactions = defineApi({
  key: 66,
  name: 'ListTransactions',
  versions: [0, 2],
  flexible: 0,
  request: {
    stateFilters: array(string()),
    producerIdFilters: array(int64()),
    /** Only transactions that have been open for longer, in ms; -1 for all. */
    durationFilter: int64({ since: 1, default: -1 }),
    /** A regular expression for the whole transactional id. */
    transactionalIdPattern: string({ since: 2, nullable: 2, default: null }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    unknownStateFilters: array(string()),
    transactionStates: array({
      transactionalId: string(),
      producerId: int64(),
      transactionState: string(),
    }),
  },
})

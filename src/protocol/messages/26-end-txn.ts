import { boolean, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Commits or aborts a transaction. From v5 on the answer gives the next producer epoch (KIP-890). */
export const endTxn = defineApi({
  key: 26,
  name: 'EndTxn',
  versions: [0, 5],
  flexible: 3,
  request: {
    transactionalId: string(),
    producerId: int64(),
    producerEpoch: int16(),
    committed: boolean(),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    producerId: int64({ since: 5, default: -1, ignorable: true }),
    producerEpoch: int16({ since: 5, default: -1, ignorable: true }),
  },
})

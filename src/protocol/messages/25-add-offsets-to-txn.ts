import { int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Adds the offsets of a group to a transaction, before TxnOffsetCommit (not needed from its v5 on). */
export const addOffsetsToTxn = defineApi({
  key: 25,
  name: 'AddOffsetsToTxn',
  versions: [0, 4],
  flexible: 3,
  request: {
    transactionalId: string(),
    producerId: int64(),
    producerEpoch: int16(),
    groupId: string(),
  },
  response: { throttleTimeMs: int32({ default: 0 }), errorCode: int16() },
})

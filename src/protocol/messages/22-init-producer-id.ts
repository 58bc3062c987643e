import { int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/**
 * Gives a producer its id and epoch; for a transactional id it fences whoever had it before. Producer
 * id and epoch of the request are -1 unless the producer asks for a newer epoch of its own id.
 */
export const initProducerId = defineApi({
  key: 22,
  name: 'InitProducerId',
  versions: [0, 5],
  flexible: 2,
  request: {
    transactionalId: string({ nullable: 0 }),
    transactionTimeoutMs: int32(),
    producerId: int64({ since: 3, default: -1 }),
    producerEpoch: int16({ since: 3, default: -1 }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    errorCode: int16(),
    producerId: int64({ default: -1 }),
    producerEpoch: int16(),
  },
})

import { int16, int32, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Keeps a member of the classic protocol in its group, and tells it of rebalances. */
export const heartbeat = defineApi({
  key: 12,
  name: 'Heartbeat',
  versions: [0, 4],
  flexible: 4,
  request: {
    groupId: string(),
    generationId: int32(),
    memberId: string(),
    groupInstanceId: string({ since: 3, nullable: 3, default: null }),
  },
  response: {
    throttleTimeMs: int32({ since: 1, ignorable: true }),
    errorCode: int16(),
  },
})

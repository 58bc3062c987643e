import { array, bytes, int16, int32, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** The leader brings the assignments of all members, and each member gets its own. */
export const syncGroup = defineApi({
  key: 14,
  name: 'SyncGroup',
  versions: [0, 5],
  flexible: 4,
  request: {
    groupId: string(),
    generationId: int32(),
    memberId: string(),
    groupInstanceId: string({ since: 3, nullable: 3, default: null }),
    protocolType: string({ since: 5, nullable: 5, default: null, ignorable: true }),
    protocolName: string({ since: 5, nullable: 5, default: null, ignorable: true }),
    /** Of the leader only; empty from the others. */
    assignments: array({ memberId: string(), assignment: bytes() }),
  },
  response: {
    throttleTimeMs: int32({ since: 1, ignorable: true }),
    errorCode: int16(),
    protocolType: string({ since: 5, nullable: 5, default: null, ignorable: true }),
    protocolName: string({ since: 5, nullable: 5, default: null, ignorable: true }),
    assignment: bytes(),
  },
})

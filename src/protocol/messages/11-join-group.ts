import { array, boolean, bytes, int16, int32, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Joins or rejoins a group of the classic protocol; the answer comes when all have joined. */
export const joinGroup = defineApi({
  key: 11,
  name: 'JoinGroup',
  versions: [0, 9],
  flexible: 6,
  request: {
    groupId: string(),
    sessionTimeoutMs: int32(),
    rebalanceTimeoutMs: int32({ since: 1, default: -1, ignorable: true }),
    /** Empty at first; MEMBER_ID_REQUIRED (v4+) then gives the id to join with. */
    memberId: string(),
    groupInstanceId: string({ since: 5, nullable: 5, default: null }),
    protocolType: string(),
    /** In the order of preference. */
    protocols: array({ name: string(), metadata: bytes() }),
    reason: string({ since: 8, nullable: 8, default: null, ignorable: true }),
  },
  response: {
    throttleTimeMs: int32({ since: 2, ignorable: true }),
    errorCode: int16(),
    generationId: int32({ default: -1 }),
    protocolType: string({ since: 7, nullable: 7, default: null, ignorable: true }),
    /** Without a protocol: null from v7 on, empty before. */
    protocolName: string({ nullable: 7 }),
    leader: string(),
    /** The leader rejoined as a static member and must not compute anew (KIP-814). */
    skipAssignment: boolean({ since: 9 }),
    memberId: string(),
    /** For the leader only; empty for the others. */
    members: array({
      memberId: string(),
      groupInstanceId: string({ since: 5, nullable: 5, default: null, ignorable: true }),
      metadata: bytes(),
    }),
  },
})

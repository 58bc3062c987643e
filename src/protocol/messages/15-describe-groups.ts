import { array, boolean, bytes, int16, int32, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** State and members of groups of the classic protocol. */
export const describeGroups = defineApi({
  key: 15,
  name: 'DescribeGroups',
  versions: [0, 5],
  flexible: 5,
  request: {
    groups: array(string()),
    includeAuthorizedOperations: boolean({ since: 3 }),
  },
  response: {
    throttleTimeMs: int32({ since: 1, ignorable: true }),
    groups: array({
      errorCode: int16(),
      groupId: string(),
      groupState: string(),
      protocolType: string(),
      /** The name of the protocol that the members agreed on. */
      protocolData: string(),
      members: array({
        memberId: string(),
        groupInstanceId: string({ since: 4, nullable: 4, default: null, ignorable: true }),
        clientId: string(),
        clientHost: string(),
        memberMetadata: bytes(),
        memberAssignment: bytes(),
      }),
      /** -2147483648 when not asked for. */
      authorizedOperations: int32({ since: 3, default: -2_147_483_648 }),
    }),
  },
})

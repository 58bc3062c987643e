import { array, int16, int32, int8, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/**
 * Which broker coordinates a group (`keyType` 0) or a transactional id (1): one key up to v3
 * (`key`), many from v4 on (`coordinatorKeys`).
 */
export const findCoordinator = defineApi({
  key: 10,
  name: 'FindCoordinator',
  versions: [0, 5],
  flexible: 3,
  request: {
    key: string({ until: 3 }),
    keyType: int8({ since: 1 }),
    coordinatorKeys: array(string(), { since: 4 }),
  },
  response: {
    throttleTimeMs: int32({ since: 1, ignorable: true }),
    errorCode: int16({ until: 3 }),
    errorMessage: string({ since: 1, until: 3, nullable: 1, default: null, ignorable: true }),
    nodeId: int32({ until: 3 }),
    host: string({ until: 3 }),
    port: int32({ until: 3 }),
    coordinators: array(
      {
        key: string(),
        nodeId: int32(),
        host: string(),
        port: int32(),
        errorCode: int16(),
        errorMessage: string({ nullable: 4, default: null }),
      },
      { since: 4 },
    ),
  },
})

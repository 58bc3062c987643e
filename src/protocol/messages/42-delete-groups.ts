import { array, int16, int32, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Deletes groups that have no members, with their offsets. */
export const deleteGroups = defineApi({
  key: 42,
  name: 'DeleteGroups',
  versions: [0, 2],
  flexible: 2,
  request: { groupsNames: array(string()) },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    results: array({ groupId: string(), errorCode: int16() }),
  },
})

import { array, int16, int32, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** The groups that a broker coordinates. */
export const listGroups = defineApi({
  key: 16,
  name: 'ListGroups',
  versions: [0, 5],
  flexible: 3,
  request: {
    statesFilter: array(string(), { since: 4 }),
    typesFilter: array(string(), { since: 5 }),
  },
  response: {
    throttleTimeMs: int32({ since: 1, ignorable: true }),
    errorCode: int16(),
    groups: array({
      groupId: string(),
      protocolType: string(),
      groupState: string({ since: 4, ignorable: true }),
      groupType: string({ since: 5, ignorable: true }),
    }),
  },
})

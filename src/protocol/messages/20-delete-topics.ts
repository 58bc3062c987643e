import { array, int16, int32, string, uuid } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Deletes topics: by name up to v5 (`topicNames`), by name or id in v6 (`topics`). */
export const deleteTopics = defineApi({
  key: 20,
  name: 'DeleteTopics',
  versions: [1, 6],
  flexible: 4,
  request: {
    topics: array(
      { name: string({ nullable: 6, default: null }), topicId: uuid({ since: 6 }) },
      { since: 6 },
    ),
    topicNames: array(string(), { until: 5, ignorable: true }),
    timeoutMs: int32(),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    responses: array({
      name: string({ nullable: 6 }),
      topicId: uuid({ since: 6, ignorable: true }),
      errorCode: int16(),
      errorMessage: string({ since: 5, nullable: 5, default: null, ignorable: true }),
    }),
  },
})

import { array, int16, int32, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Deletes committed offsets of a group. */
export const offsetDelete = defineApi({
  key: 47,
  name: 'OffsetDelete',
  versions: [0, 0],
  request: {
    groupId: string(),
    topics: array({ name: string(), partitions: array({ partitionIndex: int32() }) }),
  },
  response: {
    errorCode: int16(),
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      name: string(),
      partitions: array({ partitionIndex: int32(), errorCode: int16() }),
    }),
  },
})

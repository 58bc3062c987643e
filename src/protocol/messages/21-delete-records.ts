import { array, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Deletes the records before an offset; -1 stands for the high watermark. */
export const deleteRecords = defineApi({
  key: 21,
  name: 'DeleteRecords',
  versions: [0, 2],
  flexible: 2,
  request: {
    topics: array({
      name: string(),
      partitions: array({ partitionIndex: int32(), offset: int64() }),
    }),
    timeoutMs: int32(),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    topics: array({
      name: string(),
      partitions: array({ partitionIndex: int32(), lowWatermark: int64(), errorCode: int16() }),
    }),
  },
})

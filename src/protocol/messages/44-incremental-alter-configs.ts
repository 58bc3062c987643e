import { array, boolean, int16, int32, int8, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Changes single configuration values. Operations: 0 set, 1 delete, 2 append, 3 subtract. */
export const incrementalAlterConfigs = defineApi({
  key: 44,
  name: 'IncrementalAlterConfigs',
  versions: [0, 1],
  flexible: 1,
  request: {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      configs: array({
        name: string(),
        configOperation: int8(),
        value: string({ nullable: 0 }),
      }),
    }),
    validateOnly: boolean(),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    responses: array({
      errorCode: int16(),
      errorMessage: string({ nullable: 0 }),
      resourceType: int8(),
      resourceName: string(),
    }),
  },
})

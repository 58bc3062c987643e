import { array, boolean, int16, int32, int8, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Configuration of topics (resource type 2), brokers (4), broker loggers (8), groups (32). */
export const describeConfigs = defineApi({
  key: 32,
  name: 'DescribeConfigs',
  versions: [1, 4],
  flexible: 4,
  request: {
    resources: array({
      resourceType: int8(),
      resourceName: string(),
      /** Null asks for all. */
      configurationKeys: array(string(), { nullable: 0 }),
    }),
    includeSynonyms: boolean({ default: false }),
    includeDocumentation: boolean({ since: 3 }),
  },
  response: {
    throttleTimeMs: int32({ default: 0 }),
    results: array({
      errorCode: int16(),
      errorMessage: string({ nullable: 0 }),
      resourceType: int8(),
      resourceName: string(),
      configs: array({
        name: string(),
        value: string({ nullable: 0 }),
        readOnly: boolean(),
        /** 1 topic, 2 dynamic broker, 4 static broker, 5 default, 8 group. */
        configSource: int8({ default: -1 }),
        isSensitive: boolean(),
        synonyms: array({ name: string(), value: string({ nullable: 0 }), source: int8() }),
        /** 1 boolean, 2 string, 3 int, 4 short, 5 long, 6 double, 7 list, 8 class, 9 password. */
        configType: int8({ since: 3, ignorable: true }),
        documentation: string({ since: 3, nullable: 3, ignorable: true }),
      }),
    }),
  },
})

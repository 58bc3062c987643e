import { array, boolean, int16, int32, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/**
 * Which APIs and features a broker has. A broker that does not know the version of the request
 * answers UNSUPPORTED_VERSION in version 0, with its own range for this API among the keys.
 */
export const apiVersions = defineApi({
  key: 18,
  name: 'ApiVersions',
  versions: [0, 4],
  flexible: 3,
  request: {
    clientSoftwareName: string({ since: 3, ignorable: true }),
    clientSoftwareVersion: string({ since: 3, ignorable: true }),
  },
  response: {
    errorCode: int16(),
    apiKeys: array({ apiKey: int16(), minVersion: int16(), maxVersion: int16() }),
    throttleTimeMs: int32({ since: 1, ignorable: true }),
    /** From v4 on a minimum may be 0; a broker leaves such features out of v3. */
    supportedFeatures: array(
      { name: string(), minVersion: int16(), maxVersion: int16() },
      { since: 3, tag: 0, ignorable: true },
    ),
    finalizedFeaturesEpoch: int64({ since: 3, tag: 1, default: -1, ignorable: true }),
    finalizedFeatures: array(
      { name: string(), maxVersionLevel: int16(), minVersionLevel: int16() },
      { since: 3, tag: 2, ignorable: true },
    ),
    zkMigrationReady: boolean({ since: 3, tag: 3, ignorable: true }),
  },
})

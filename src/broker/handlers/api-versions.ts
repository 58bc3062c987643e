import { errorCode } from '../../protocol/error-codes.ts'
import type { apiVersions } from '../../protocol/messages/18-api-versions.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { BrokerParts, RequestContext } from '../request-context.ts'

type Response = ResponseInputOf<typeof apiVersions>

/** Kafka's rule for the name and version that a client gives of its software. */
const softwarePattern = /^[a-zA-Z0-9](?:[a-zA-Z0-9\-.]*[a-zA-Z0-9])?$/

/** Tells what the broker speaks. */
export function handleApiVersions(
  request: RequestOf<typeof apiVersions>,
  { broker, apiVersion }: RequestContext,
): Response {
  const names = [request.clientSoftwareName, request.clientSoftwareVersion]
  const isInvalid = apiVersion >= 3 && !names.every((name) => softwarePattern.test(name))
  if (isInvalid) return { errorCode: errorCode.INVALID_REQUEST, apiKeys: [] }
  return { errorCode: errorCode.NONE, apiKeys: broker.apiRanges, ...describeFeatures(broker) }
}

function describeFeatures({ features }: BrokerParts): Partial<Response> {
  const all = [...features]
  return {
    supportedFeatures: all.map(([name, { min, max }]) => ({
      name,
      minVersion: min,
      maxVersion: max,
    })),
    finalizedFeaturesEpoch: 0,
    finalizedFeatures: all.map(([name, { level }]) => ({
      name,
      minVersionLevel: level,
      maxVersionLevel: level,
    })),
  }
}

/** The answer, in version 0, to a client that asks in a version which is not known. */
export function unsupportedApiVersions({ broker }: Pick<RequestContext, 'broker'>): Response {
  return { errorCode: errorCode.UNSUPPORTED_VERSION, apiKeys: broker.apiRanges }
}

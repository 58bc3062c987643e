import { errorCode, type KafkaErrorName } from '../../protocol/error-codes.ts'

/**
 * The code of an error, for clients of this version of a request: those before `fencedVersion` do not
 * know PRODUCER_FENCED, and are told INVALID_PRODUCER_EPOCH.
 */
export function errorFor(
  error: KafkaErrorName,
  { apiVersion, fencedVersion }: { apiVersion: number; fencedVersion: number },
): number {
  const isUnknown = error === 'PRODUCER_FENCED' && apiVersion < fencedVersion
  return errorCode[isUnknown ? 'INVALID_PRODUCER_EPOCH' : error]
}

import type { AnyApi } from './schema.ts'
import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'
import { StreamsError } from '../errors.ts'

const apiVersionsKey = 18

/** What stands before the body of every request. */
export interface RequestHeader {
  readonly apiKey: number
  readonly apiVersion: number
  readonly correlationId: number
  readonly clientId: string | null
}

/**
 * 2 (with tagged fields) for the flexible versions of an API, else 1. It is right for versions beyond
 * the table too, which a broker must be able to refuse by their correlation id.
 */
export function requestHeaderVersion(api: AnyApi, version: number): 1 | 2 {
  return version >= api.flexible ? 2 : 1
}

/**
 * 1 (with tagged fields) for the flexible versions of an API, else 0. ApiVersions always has 0: its
 * client does not know yet what the broker speaks (KIP-511).
 */
export function responseHeaderVersion(api: AnyApi, version: number): 0 | 1 {
  return version >= api.flexible && api.key !== apiVersionsKey ? 1 : 0
}

/** Appends the header of a request. @throws PROTOCOL_VALUE_INVALID when the client id is too long */
export function encodeRequestHeader(
  api: AnyApi,
  version: number,
  { correlationId, clientId }: { readonly correlationId: number; readonly clientId: string | null },
  writer: Writer,
): void {
  writer.api = `${api.name} request header`
  writer.field = 'apiKey'
  writer.int16(api.key)
  writer.field = 'apiVersion'
  writer.int16(version)
  writer.field = 'correlationId'
  writer.int32(correlationId)
  // The client id kept its old form in the flexible header, so that a broker reads it in both.
  writer.field = 'clientId'
  writer.nullableString(clientId)
  if (requestHeaderVersion(api, version) === 2) writer.uvarint(0)
}

/**
 * Reads the header of a request. `apis` are those that the broker knows; the version is not checked.
 *
 * @throws PROTOCOL_UNSUPPORTED_VERSION for an unknown key: nothing after it can be read, not even
 *   the length of the header, so a broker closes the connection
 */
export function decodeRequestHeader(
  apis: ReadonlyMap<number, AnyApi>,
  reader: Reader,
): RequestHeader {
  reader.api = 'a request header'
  reader.field = 'apiKey'
  const apiKey = reader.int16()
  reader.field = 'apiVersion'
  const apiVersion = reader.int16()
  const api = apis.get(apiKey)
  if (api === undefined)
    throw new StreamsError('PROTOCOL_UNSUPPORTED_VERSION', {
      api: `the API with key ${apiKey}`,
      version: apiVersion,
    })
  reader.field = 'correlationId'
  const correlationId = reader.int32()
  reader.field = 'clientId'
  const clientId = reader.nullableString()
  if (requestHeaderVersion(api, apiVersion) === 2) {
    reader.field = 'the tagged fields'
    reader.skipTaggedFields()
  }
  return { apiKey, apiVersion, correlationId, clientId }
}

/** Appends the header of a response. */
export function encodeResponseHeader(
  api: AnyApi,
  version: number,
  correlationId: number,
  writer: Writer,
): void {
  writer.api = `${api.name} response header`
  writer.field = 'correlationId'
  writer.int32(correlationId)
  if (responseHeaderVersion(api, version) === 1) writer.uvarint(0)
}

/**
 * Reads the header of a response and returns its correlation id.
 *
 * The correlation id tells which request is answered, hence which API and version to pass: read it
 * with `reader.int32()` first when more than one request is under way, then set the position back.
 */
export function decodeResponseHeader(api: AnyApi, version: number, reader: Reader): number {
  reader.api = `${api.name} response header`
  reader.field = 'correlationId'
  const correlationId = reader.int32()
  if (responseHeaderVersion(api, version) === 1) {
    reader.field = 'the tagged fields'
    reader.skipTaggedFields()
  }
  return correlationId
}

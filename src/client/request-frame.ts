import { errorCode } from '../protocol/error-codes.ts'
import { decodeResponseHeader, encodeRequestHeader } from '../protocol/header.ts'
import { apiVersions } from '../protocol/messages/18-api-versions.ts'
import { Reader } from '../protocol/reader.ts'
import { decodeResponse, encodeRequest, type Api } from '../protocol/schema.ts'
import { Writer } from '../protocol/writer.ts'

const sizeBytes = 4

/** The body of a request, or what makes it for the version that is spoken. */
export type RequestBody<In> = In | ((version: number) => In)

/** What goes before the body of a request. */
export interface RequestFrameHeader {
  readonly correlationId: number
  readonly clientId: string
  /** About how large the frame is; undefined: nobody knows. */
  readonly bytesHint: number | undefined
}

/**
 * A request as it goes over the wire, in bytes of its own: the transport borrows them until they are
 * written. Throws `PROTOCOL_VALUE_INVALID`, `PROTOCOL_UNSUPPORTED_VERSION`.
 */
export function encodeRequestFrame<In>(
  api: Api<In, unknown, unknown, unknown>,
  version: number,
  body: RequestBody<In>,
  { correlationId, clientId, bytesHint }: RequestFrameHeader,
): Buffer {
  const value = typeof body === 'function' ? (body as (version: number) => In)(version) : body
  const writer = new Writer(bytesHint)
  writer.int32(0)
  encodeRequestHeader(api, version, { correlationId, clientId }, writer)
  encodeRequest(api, version, value, writer)
  writer.patchInt32(0, writer.position - sizeBytes)
  return writer.finish()
}

/** Reads a response, without its size. Throws `PROTOCOL_MALFORMED`. */
export function decodeResponseFrame<Response>(
  api: Api<never, unknown, unknown, Response>,
  version: number,
  frame: Buffer,
): Response {
  const reader = new Reader(frame, { api: `${api.name} response` })
  decodeResponseHeader(api, version, reader)
  // A broker that does not know the version of an ApiVersions request answers in version 0.
  const isRefused =
    api.key === apiVersions.key &&
    reader.remaining >= 2 &&
    frame.readInt16BE(reader.position) === errorCode.UNSUPPORTED_VERSION
  return decodeResponse(api, isRefused ? 0 : version, reader)
}

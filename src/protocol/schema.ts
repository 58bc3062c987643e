import { StreamsError } from '../errors.ts'
import { compileStruct, type Codec } from './codec.ts'
import type { Fields, InputOf, OutputOf } from './field.ts'
import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

/** What a table of one message states. */
export interface MessageDefinition<F extends Fields> {
  readonly name: string
  /** First and last version of the table, both included. */
  readonly versions: readonly [number, number]
  /** The first version with compact lengths and tagged fields (KIP-482). Default: none. */
  readonly flexible?: number
  readonly fields: F
}

/** One message in all its versions; each version is compiled when it is first used. */
export class Message<In, Out> {
  readonly name: string
  readonly versions: readonly [number, number]
  readonly flexible: number
  readonly fields: Fields
  readonly #codecs = new Map<number, Codec>()

  constructor(definition: MessageDefinition<Fields>) {
    this.name = definition.name
    this.versions = definition.versions
    this.flexible = definition.flexible ?? Infinity
    this.fields = definition.fields
  }

  /** Appends the message. @throws PROTOCOL_UNSUPPORTED_VERSION, PROTOCOL_VALUE_INVALID */
  encode(version: number, body: In, writer: Writer): void {
    const codec = this.#codec(version)
    writer.api = `${this.name} v${version}`
    codec.write(writer, body)
  }

  /** Reads the message; bytes after it stay unread. @throws PROTOCOL_UNSUPPORTED_VERSION, PROTOCOL_MALFORMED */
  decode(version: number, reader: Reader): Out {
    const codec = this.#codec(version)
    reader.api = `${this.name} v${version}`
    return codec.read(reader) as Out
  }

  #codec(version: number): Codec {
    const known = this.#codecs.get(version)
    if (known !== undefined) return known
    const [min, max] = this.versions
    if (!Number.isInteger(version) || version < min || version > max)
      throw new StreamsError('PROTOCOL_UNSUPPORTED_VERSION', {
        api: this.name,
        version,
        detail: `known are ${min} to ${max}`,
      })
    const flexible = version >= this.flexible
    const codec = compileStruct(this.fields, { name: this.name, version, flexible })
    this.#codecs.set(version, codec)
    return codec
  }
}

/** What decoding a message gives, in every version the same. */
export type OutputOfMessage<M> = M extends Message<infer _In, infer Out> ? Out : never

/** What encoding a message takes: fields that have a default may be left out. */
export type InputOfMessage<M> = M extends Message<infer In, infer _Out> ? In : never

/** Defines a message that is not a request or response, for example the metadata of a group member. */
export function defineMessage<const F extends Fields>(
  definition: MessageDefinition<F>,
): Message<InputOf<F>, OutputOf<F>> {
  return new Message(definition)
}

/** One API of Kafka: its key, its versions, and both directions. */
export interface Api<RequestIn, RequestOut, ResponseIn, ResponseOut> {
  readonly key: number
  readonly name: string
  /** First and last version that the tables know, both included. */
  readonly versions: readonly [number, number]
  /** The first version with compact lengths and tagged fields; Infinity when there is none. */
  readonly flexible: number
  /** The first version that a broker names in ApiVersions; Produce alone names more than it reads. */
  readonly advertisedMin: number
  readonly request: Message<RequestIn, RequestOut>
  readonly response: Message<ResponseIn, ResponseOut>
}

/** Any API, for tables of handlers. */
export type AnyApi = Api<unknown, unknown, unknown, unknown>

/** A decoded request, in every version the same. */
export type RequestOf<A> =
  A extends Api<infer _In, infer Out, infer _ResIn, infer _ResOut> ? Out : never

/** A decoded response, in every version the same. */
export type ResponseOf<A> =
  A extends Api<infer _In, infer _Out, infer _ResIn, infer Out> ? Out : never

/** What encoding a request takes: fields that have a default may be left out. */
export type RequestInputOf<A> =
  A extends Api<infer In, infer _Out, infer _ResIn, infer _ResOut> ? In : never

/** What encoding a response takes: fields that have a default may be left out. */
export type ResponseInputOf<A> =
  A extends Api<infer _In, infer _Out, infer In, infer _ResOut> ? In : never

/** What the table of one API states. */
export interface ApiDefinition<Request extends Fields, Response extends Fields> {
  readonly key: number
  /** Kafka's name of the API. */
  readonly name: string
  /** First and last version of the table, both included. */
  readonly versions: readonly [number, number]
  /** The first version with compact lengths and tagged fields (KIP-482). Default: none. */
  readonly flexible?: number
  /** Default: the first version. */
  readonly advertisedMin?: number
  readonly request: Request
  readonly response: Response
}

/**
 * Defines an API by its table, for client and broker alike.
 *
 * @example
 * export const heartbeat = defineApi({
 *   key: 12, name: 'Heartbeat', versions: [0, 4], flexible: 4,
 *   request: { groupId: string(), generationId: int32(), memberId: string(),
 *     groupInstanceId: string({ since: 3, nullable: 3, default: null }) },
 *   response: { throttleTimeMs: int32({ since: 1, ignorable: true }), errorCode: int16() },
 * })
 */
export function defineApi<const Request extends Fields, const Response extends Fields>(
  definition: ApiDefinition<Request, Response>,
): Api<InputOf<Request>, OutputOf<Request>, InputOf<Response>, OutputOf<Response>> {
  const { key, name, versions, flexible, advertisedMin = versions[0] } = definition
  return {
    key,
    name,
    versions,
    flexible: flexible ?? Infinity,
    advertisedMin,
    request: new Message({
      name: `${name} request`,
      versions,
      flexible,
      fields: definition.request,
    }),
    response: new Message({
      name: `${name} response`,
      versions,
      flexible,
      fields: definition.response,
    }),
  }
}

/** Appends the body of a request (no header). @throws PROTOCOL_UNSUPPORTED_VERSION, PROTOCOL_VALUE_INVALID */
export function encodeRequest<In>(
  api: Api<In, unknown, unknown, unknown>,
  version: number,
  body: In,
  writer: Writer,
): void {
  api.request.encode(version, body, writer)
}

/** Reads the body of a request (after its header). @throws PROTOCOL_UNSUPPORTED_VERSION, PROTOCOL_MALFORMED */
export function decodeRequest<Out>(
  api: Api<unknown, Out, unknown, unknown>,
  version: number,
  reader: Reader,
): Out {
  return api.request.decode(version, reader)
}

/** Appends the body of a response (no header). @throws PROTOCOL_UNSUPPORTED_VERSION, PROTOCOL_VALUE_INVALID */
export function encodeResponse<In>(
  api: Api<unknown, unknown, In, unknown>,
  version: number,
  body: In,
  writer: Writer,
): void {
  api.response.encode(version, body, writer)
}

/** Reads the body of a response (after its header). @throws PROTOCOL_UNSUPPORTED_VERSION, PROTOCOL_MALFORMED */
export function decodeResponse<Out>(
  api: Api<unknown, unknown, unknown, Out>,
  version: number,
  reader: Reader,
): Out {
  return api.response.decode(version, reader)
}

import { Type, type Static } from 'typebox'
import { StreamsError } from '../../errors.ts'
import { keyValueDescriptor } from '../../query/local-query.ts'
import { decodeCursor } from '../../query/page.ts'
import { pageRowsDefault, pageRowsMax, type PageRequest } from '../../query/request.ts'
import type { AnyStore } from '../../store/descriptor.ts'
import { ClientConnection } from '../client-connection.ts'
import {
  countBody,
  cursorOf,
  pageBody,
  pageLines,
  rowOf,
  valueBody,
  type RowFormat,
} from '../envelope.ts'
import { hopHeader } from '../hop.ts'
import type { HttpSubject } from '../instance.ts'
import { keyFormatOf, parseKey, parsePrefix, type KeyFormat } from '../key-format.ts'
import { replyProblem } from '../problem-reply.ts'
import type { TypedApp } from '../typed-app.ts'
import { assertInstance } from './stores.ts'

const jsonContentType = 'application/json; charset=utf-8'
const linesMediaType = 'application/x-ndjson'
const linesContentType = `${linesMediaType}; charset=utf-8`

/** Which of the two a client prefers, as far as `Accept` says; quality values are not weighed. */
const acceptsLines = (accept: string | undefined): boolean =>
  accept?.toLowerCase().includes(linesMediaType) ?? false

const store = Type.String()
const keyFormat = Type.Optional(Type.Union([Type.Literal('text'), Type.Literal('base64')]))
const closed = { additionalProperties: false }

/** Partitions that a hop asks for; nobody else needs to say. */
const partitions = Type.Optional(
  Type.String({
    pattern: '^\\d{1,9}(,\\d{1,9})*$',
    description: 'partitions with commas between them',
    internal: true,
  }),
)

/** Who may answer, and how many records it may lack. */
const consistency = {
  consistency: Type.Optional(Type.Union([Type.Literal('active'), Type.Literal('any')])),
  maxLag: Type.Optional(Type.Integer({ minimum: 0 })),
}

const keyParams = Type.Object({ store, key: Type.String() })
const keyQuery = Type.Object({ keyFormat, ...consistency }, closed)
const storeParams = Type.Object({ store })
const countQuery = Type.Object(
  { partitions, allowPartial: Type.Optional(Type.Boolean()), ...consistency },
  closed,
)
const pageQuery = Type.Object(
  {
    from: Type.Optional(Type.String()),
    to: Type.Optional(Type.String()),
    prefix: Type.Optional(Type.String()),
    reverse: Type.Optional(Type.Boolean()),
    limit: Type.Optional(Type.Integer({ minimum: 1, maximum: pageRowsMax })),
    cursor: Type.Optional(Type.String()),
    allowPartial: Type.Optional(Type.Boolean()),
    keyFormat,
    partitions,
    ...consistency,
  },
  closed,
)

/** Values, pages of rows and counts of a store. */
export function keyRoutes(app: TypedApp, subject: HttpSubject): void {
  const keySchema = { params: keyParams, querystring: keyQuery }
  app.get('/v1/stores/:store/keys/:key', { schema: keySchema }, async (request, reply) => {
    const { store: name, key } = request.params
    const { descriptor, router } = open(subject, name, 'get')
    const isHop = request.headers[hopHeader] !== undefined
    const format = keyFormatOf(descriptor, request.query.keyFormat)
    const keyBytes = parseKey(descriptor, format, key)
    const { signal } = ClientConnection.of(request.raw.socket)
    const { consistency, maxLag } = request.query
    const question = { kind: 'get', store: name, keyBytes, consistency, maxLag, signal } as const
    const { found, meta } = await (isHop ? router.getHere(question) : router.get(question))
    if (found === undefined) {
      const error = new StreamsError('KEY_NOT_FOUND', { store: name, key })
      return replyProblem(subject, reply, error, { meta })
    }
    const row = rowOf(descriptor, keyBytes, found)
    const body = valueBody(rowFormat(descriptor, format, isHop), row, meta)
    return reply.header('content-type', jsonContentType).send(body)
  })

  const pageSchema = { params: storeParams, querystring: pageQuery }
  app.get('/v1/stores/:store/keys', { schema: pageSchema }, async (request, reply) => {
    const { store: name } = request.params
    const { descriptor, router } = open(subject, name, 'range')
    const asked = hopPartitions(request.headers[hopHeader], request.query.partitions)
    const format = keyFormatOf(descriptor, request.query.keyFormat)
    const { signal } = ClientConnection.of(request.raw.socket)
    const question = { ...pageRequest(descriptor, format, request.query), signal }
    const answer = await (asked === undefined
      ? router.page(question)
      : router.pageHere(asked, question))
    const cursor = cursorOf(answer, question.bounds.reverse ?? false, question.after)
    const form = rowFormat(descriptor, format, asked !== undefined)
    return acceptsLines(request.headers.accept)
      ? reply.header('content-type', linesContentType).send(pageLines(form, answer, cursor))
      : reply.header('content-type', jsonContentType).send(pageBody(form, answer, cursor))
  })

  const countSchema = { params: storeParams, querystring: countQuery }
  app.get('/v1/stores/:store/count', { schema: countSchema }, async (request, reply) => {
    const { store: name } = request.params
    const { router } = open(subject, name, 'range')
    const asked = hopPartitions(request.headers[hopHeader], request.query.partitions)
    const { signal } = ClientConnection.of(request.raw.socket)
    const { allowPartial, consistency, maxLag } = request.query
    const bounds = { allowPartial, consistency, maxLag }
    const question = { kind: 'count', store: name, ...bounds, signal } as const
    const answer = await (asked === undefined
      ? router.count(question)
      : router.countHere(asked, question))
    return reply.header('content-type', jsonContentType).send(countBody(answer))
  })
}

/** The exposure is asked first: a store that is not exposed is not told from one that is not there. */
function open(
  subject: HttpSubject,
  name: string,
  operation: 'get' | 'range',
): { descriptor: AnyStore; router: ReturnType<typeof assertInstance>['router'] } {
  subject.exposure.assertAllowed(name, operation)
  const { target, router } = assertInstance(subject)
  return { descriptor: keyValueDescriptor(target, name), router }
}

function rowFormat(descriptor: AnyStore, key: KeyFormat, isHop: boolean): RowFormat {
  return { store: descriptor, key, value: isHop ? 'bytes' : 'json' }
}

/** Undefined for a question that has not been forwarded. */
function hopPartitions(
  hop: string | string[] | undefined,
  asked: string | undefined,
): number[] | undefined {
  if (hop === undefined && asked === undefined) return undefined
  if (hop !== undefined && asked !== undefined) return asked.split(',').map(Number)
  throw new StreamsError('QUERY_INVALID', { detail: 'partitions is for hops, which need it' })
}

function pageRequest(
  descriptor: AnyStore,
  format: KeyFormat,
  query: Static<typeof pageQuery>,
): PageRequest {
  const { from, to, prefix, reverse = false, limit = pageRowsDefault, cursor } = query
  const { allowPartial, consistency, maxLag } = query
  return {
    kind: 'page',
    store: descriptor.name,
    bounds: {
      from: from === undefined ? undefined : parseKey(descriptor, format, from),
      to: to === undefined ? undefined : parseKey(descriptor, format, to),
      prefix: prefix === undefined ? undefined : parsePrefix(descriptor, format, prefix),
      reverse,
    },
    limit,
    after: cursor === undefined ? undefined : decodeCursor(cursor, reverse),
    allowPartial,
    consistency,
    maxLag,
  }
}

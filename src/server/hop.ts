/**
 * The hop: one instance asks another over the same routes. Its mark says that the question has been
 * forwarded already, so that it is answered or refused where it arrives. Keys, bounds and values
 * travel as bytes in base64; the instance that was asked first gives them their form.
 */
import { Type, type Static } from 'typebox'
import { Compile } from 'typebox/compile'
import { StreamsError, errorCodes, type ErrorCode } from '../errors.ts'
import type { Endpoint } from '../group/membership.ts'
import { allowsStale, type ConsistencyOptions } from '../query/consistency.ts'
import { encodeCursor } from '../query/page.ts'
import type { QueryTarget, StoreRow } from '../query/query-target.ts'
import type {
  CountAnswer,
  CountRequest,
  GetAnswer,
  GetRequest,
  PageAnswer,
  PageRequest,
  QueryRequest,
} from '../query/request.ts'
import { endpointName, type QueryPeers } from '../query/router.ts'
import type { AnyStore } from '../store/descriptor.ts'

/** Name of the header that marks a hop; its value is the depth. */
export const hopHeader = 'millpond-hop'

/** The only depth there is. */
export const hopDepth = '1'

/** What a peer answered over HTTP. */
export interface HopResponse {
  readonly status: number
  readonly body: unknown
}

/** How long a hop may take. */
export interface HopOptions {
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

/** Who may ask others waits no longer for one of them: a process that hangs, a machine that is gone. */
const staleTimeoutMs = 500

/** Carries hops. */
export interface HopSender {
  /**
   * Sends one GET; rejects with `PEER_UNREACHABLE`, `QUERY_TIMEOUT` or `ABORTED`. `timeoutMs`: in place
   * of the time that questions have.
   */
  send(peer: Endpoint, path: string, options: HopOptions): Promise<HopResponse>
}

const meta = Type.Object({
  store: Type.String(),
  servedBy: Type.Union([Type.String(), Type.Array(Type.String())]),
  role: Type.Union([
    Type.Literal('active'),
    Type.Literal('standby'),
    Type.Literal('restoring'),
    Type.Literal('global'),
  ]),
  lag: Type.Number(),
  position: Type.Record(Type.String(), Type.Record(Type.String(), Type.Number())),
  partial: Type.Boolean(),
  partition: Type.Optional(Type.Integer()),
  partitions: Type.Optional(Type.Array(Type.Integer())),
  missingPartitions: Type.Optional(Type.Array(Type.Integer())),
})
const row = Type.Object({
  key: Type.String(),
  value: Type.String(),
  timestamp: Type.Optional(Type.Number()),
})
type HopRow = Static<typeof row>

/** What peers answer. The address of one may be somebody else's by now, who answers what he likes. */
const absentAnswer = Compile(Type.Object({ meta }))
const valueAnswer = Compile(Type.Intersect([row, Type.Object({ meta })]))
const pageAnswer = Compile(
  Type.Object({
    rows: Type.Array(row),
    cursor: Type.Union([Type.String(), Type.Null()]),
    meta,
  }),
)
const countAnswer = Compile(Type.Object({ approximate: Type.Number(), meta }))

/** Questions to other instances. */
export class HopPeers implements QueryPeers {
  readonly #target: QueryTarget
  readonly #sender: HopSender

  constructor(target: QueryTarget, sender: HopSender) {
    this.#target = target
    this.#sender = sender
  }

  async get(peer: Endpoint, request: GetRequest): Promise<GetAnswer> {
    const { store, keyBytes } = request
    const query = new URLSearchParams({ keyFormat: 'base64', ...consistencyOf(request) })
    const path = `${storePath(store)}/keys/${keyBytes.toString('base64url')}?${query.toString()}`
    const { status, body } = await this.#sender.send(peer, path, hopOptions(request))
    const problem = status === 200 ? undefined : problemFrom(peer, status, body)
    if (problem !== undefined && problem.code !== 'KEY_NOT_FOUND') throw problem
    if (problem !== undefined) {
      if (!absentAnswer.Check(body)) throw unlikeAnswer(peer)
      return { kind: 'get', found: undefined, meta: body.meta }
    }
    if (!valueAnswer.Check(body)) throw unlikeAnswer(peer)
    return { kind: 'get', found: this.#row(store, body), meta: body.meta }
  }

  async page(
    peer: Endpoint,
    partitions: readonly number[],
    request: PageRequest,
  ): Promise<PageAnswer> {
    const { store, bounds, after, limit } = request
    const query = new URLSearchParams({
      keyFormat: 'base64',
      limit: String(limit),
      partitions: partitions.join(','),
      ...consistencyOf(request),
    })
    if (bounds.reverse === true) query.set('reverse', 'true')
    for (const name of ['from', 'to', 'prefix'] as const) {
      const bytes = bounds[name]
      if (bytes !== undefined) query.set(name, bytes.toString('base64url'))
    }
    if (after !== undefined) query.set('cursor', encodeCursor(after, bounds.reverse ?? false))
    const path = `${storePath(store)}/keys?${query.toString()}`
    const { status, body } = await this.#sender.send(peer, path, hopOptions(request))
    if (status !== 200) throw problemFrom(peer, status, body)
    if (!pageAnswer.Check(body)) throw unlikeAnswer(peer)
    const rows = body.rows.map((one) => this.#row(store, one))
    return { kind: 'page', rows, more: body.cursor !== null, meta: body.meta }
  }

  async count(
    peer: Endpoint,
    partitions: readonly number[],
    request: CountRequest,
  ): Promise<CountAnswer> {
    const { store } = request
    const query = new URLSearchParams({
      partitions: partitions.join(','),
      ...consistencyOf(request),
    })
    const path = `${storePath(store)}/count?${query.toString()}`
    const { status, body } = await this.#sender.send(peer, path, hopOptions(request))
    if (status !== 200) throw problemFrom(peer, status, body)
    if (!countAnswer.Check(body)) throw unlikeAnswer(peer)
    return { kind: 'count', approximate: body.approximate, meta: body.meta }
  }

  #row(store: string, { key: keyText, value: valueText, timestamp = -1 }: HopRow): StoreRow {
    const descriptor = this.#target.descriptor(store) as AnyStore
    const keyBytes = Buffer.from(keyText, 'base64')
    const key: unknown = descriptor.key.deserialize(keyBytes)
    const value: unknown = descriptor.value.deserialize(Buffer.from(valueText, 'base64'))
    return { keyBytes, key, value, timestamp }
  }
}

function hopOptions(request: QueryRequest): HopOptions {
  const timeoutMs = allowsStale(request) ? staleTimeoutMs : undefined
  return { signal: request.signal, timeoutMs }
}

/** As parameters of a route: whoever answers holds the bounds. */
function consistencyOf({ consistency, maxLag }: ConsistencyOptions): Record<string, string> {
  return {
    ...(consistency !== undefined && { consistency }),
    ...(maxLag !== undefined && { maxLag: String(maxLag) }),
  }
}

function storePath(store: string): string {
  return `/v1/stores/${encodeURIComponent(store)}`
}

/** The peer's problem as the error that it was there; anything else did not come from an instance. */
function problemFrom(peer: Endpoint, status: number, body: unknown): StreamsError {
  const { code, context } = (body ?? {}) as { code?: unknown; context?: unknown }
  if (errorCodes.includes(code as ErrorCode)) {
    return new StreamsError(code as ErrorCode, (context ?? {}) as Record<string, unknown>)
  }
  const detail = `it answered ${status} without a problem document`
  return new StreamsError('PEER_UNREACHABLE', { peer: endpointName(peer), detail })
}

function unlikeAnswer(peer: Endpoint): StreamsError {
  const detail = 'it answered what no instance answers'
  return new StreamsError('PEER_UNREACHABLE', { peer: endpointName(peer), detail })
}

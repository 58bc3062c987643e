import { FrameBuffer } from '../../src/broker/frame-buffer.ts'
import type { WirePiece, WireTap } from '../../src/base/simulated-network.ts'
import { apis } from '../../src/protocol/apis.ts'
import { decodeRequestHeader, decodeResponseHeader } from '../../src/protocol/header.ts'
import { endTxn } from '../../src/protocol/messages/26-end-txn.ts'
import { txnOffsetCommit } from '../../src/protocol/messages/28-txn-offset-commit.ts'
import { offsetCommit } from '../../src/protocol/messages/8-offset-commit.ts'
import { Reader } from '../../src/protocol/reader.ts'
import type { AnyApi, RequestOf, ResponseOf } from '../../src/protocol/schema.ts'

const frameBytesMax = 100 * 1024 * 1024

/** The requests that are read; all others pass by. */
const watched: ReadonlyMap<number, AnyApi> = new Map<number, AnyApi>(
  [offsetCommit, txnOffsetCommit, endTxn].map((api) => [api.key, api as unknown as AnyApi]),
)

interface PendingRequest {
  readonly api: AnyApi
  readonly version: number
  readonly correlationId: number
  readonly request: unknown
}

interface Wire {
  readonly requests: FrameBuffer
  readonly responses: FrameBuffer
  readonly pending: PendingRequest[]
}

type CommitRequest = RequestOf<typeof offsetCommit> | RequestOf<typeof txnOffsetCommit>
type CommitResponse = ResponseOf<typeof offsetCommit> | ResponseOf<typeof txnOffsetCommit>

/** An offset that the broker has accepted. */
export interface AcceptedOffset {
  readonly offset: number
  readonly memberId: string
  readonly generation: number
}

/**
 * Reads the bytes between clients and the broker: which offsets the broker has accepted, and from whom; those of a
 * transaction when it was committed. It is the judge of what counts as committed, and shares nothing with those
 * who commit but the tables of messages.
 */
export class CommitWatch implements WireTap {
  /** By `topic-partition`. */
  readonly accepted = new Map<string, AcceptedOffset>()
  readonly #wires = new Map<number, Wire>()
  /** Of open transactions, by producer id and epoch. */
  readonly #inTransaction = new Map<string, Map<string, AcceptedOffset>>()
  readonly #onBreach: (what: string) => void

  constructor(onBreach: (what: string) => void) {
    this.#onBreach = onBreach
  }

  /** Undefined: nothing was committed of it. */
  committed(topic: string, partition: number): number | undefined {
    return this.accepted.get(`${topic}-${partition}`)?.offset
  }

  arrived({ connection, direction, bytes }: WirePiece): void {
    if (direction !== 'request') return
    const wire = this.#wire(connection)
    wire.requests.push(bytes)
    for (let frame = wire.requests.next(); frame !== undefined; frame = wire.requests.next()) {
      const api = watched.get(frame.readInt16BE(0))
      if (api === undefined) continue
      const reader = new Reader(frame, { api: 'a request' })
      const { apiVersion: version, correlationId } = decodeRequestHeader(apis, reader)
      const request = api.request.decode(version, reader)
      wire.pending.push({ api, version, correlationId, request })
    }
  }

  written({ connection, direction, bytes }: WirePiece): void {
    if (direction !== 'response') return
    const wire = this.#wire(connection)
    wire.responses.push(bytes)
    for (let frame = wire.responses.next(); frame !== undefined; frame = wire.responses.next()) {
      const pending = wire.pending[0]
      if (pending?.correlationId !== frame.readInt32BE(0)) continue
      wire.pending.shift()
      const { api, version, request } = pending
      const reader = new Reader(frame, { api: 'a response' })
      decodeResponseHeader(api, version, reader)
      this.#answered(api, request, api.response.decode(version, reader))
    }
  }

  #wire(connection: number): Wire {
    let wire = this.#wires.get(connection)
    if (wire === undefined) {
      wire = {
        requests: new FrameBuffer(frameBytesMax),
        responses: new FrameBuffer(frameBytesMax),
        pending: [],
      }
      this.#wires.set(connection, wire)
    }
    return wire
  }

  #answered(api: AnyApi, request: unknown, response: unknown): void {
    if (api.key === endTxn.key) {
      const { producerId, producerEpoch, committed } = request as RequestOf<typeof endTxn>
      if ((response as ResponseOf<typeof endTxn>).errorCode !== 0) return
      const transaction = `${producerId}/${producerEpoch}`
      const offsets = this.#inTransaction.get(transaction) ?? []
      this.#inTransaction.delete(transaction)
      if (committed) for (const [name, offset] of offsets) this.#accept(name, offset)
      return
    }
    const offsets = acceptedOf(request as CommitRequest, response as CommitResponse)
    if (api.key === offsetCommit.key) {
      for (const [name, offset] of offsets) this.#accept(name, offset)
      return
    }
    const { producerId, producerEpoch } = request as RequestOf<typeof txnOffsetCommit>
    const transaction = `${producerId}/${producerEpoch}`
    const open = this.#inTransaction.get(transaction) ?? new Map<string, AcceptedOffset>()
    this.#inTransaction.set(transaction, open)
    for (const [name, offset] of offsets) open.set(name, offset)
  }

  #accept(name: string, now: AcceptedOffset): void {
    const before = this.accepted.get(name)
    this.accepted.set(name, now)
    if (before === undefined || before.offset <= now.offset) return
    this.#onBreach(
      `the committed offset of ${name} went back from ${before.offset} (${before.memberId}, generation ` +
        `${before.generation}) to ${now.offset} (${now.memberId}, generation ${now.generation})`,
    )
  }
}

/** What the broker has taken of a commit, by `topic-partition`. */
function acceptedOf(
  request: CommitRequest,
  response: CommitResponse,
): [name: string, offset: AcceptedOffset][] {
  const { memberId, generationIdOrMemberEpoch: generation } = request
  const refused = new Set(
    response.topics.flatMap(({ name, partitions }) =>
      partitions.filter((row) => row.errorCode !== 0).map((row) => `${name}-${row.partitionIndex}`),
    ),
  )
  return request.topics
    .flatMap(({ name, partitions }) =>
      partitions.map((row): [string, AcceptedOffset] => [
        `${name}-${row.partitionIndex}`,
        { offset: row.committedOffset, memberId, generation },
      ]),
    )
    .filter(([name]) => !refused.has(name))
}

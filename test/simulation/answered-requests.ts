import { FrameBuffer } from '../../src/broker/frame-buffer.ts'
import type { WirePiece, WireTap } from '../../src/base/simulated-network.ts'
import { apis } from '../../src/protocol/apis.ts'
import { decodeRequestHeader, decodeResponseHeader } from '../../src/protocol/header.ts'
import { produce } from '../../src/protocol/messages/0-produce.ts'
import { endTxn } from '../../src/protocol/messages/26-end-txn.ts'
import { txnOffsetCommit } from '../../src/protocol/messages/28-txn-offset-commit.ts'
import { offsetCommit } from '../../src/protocol/messages/8-offset-commit.ts'
import { Reader } from '../../src/protocol/reader.ts'
import type { AnyApi, RequestOf, ResponseOf } from '../../src/protocol/schema.ts'

const frameBytesMax = 100 * 1024 * 1024

/** The requests that are read; all others pass by. */
const watched: ReadonlyMap<number, AnyApi> = new Map<number, AnyApi>(
  [produce, offsetCommit, txnOffsetCommit, endTxn].map((api) => [
    api.key,
    api as unknown as AnyApi,
  ]),
)

interface AnsweredBy<Name extends string, A> {
  readonly name: Name
  readonly request: RequestOf<A>
  readonly response: ResponseOf<A>
}

/** A request that the broker has answered, with what it said. */
export type Answered =
  | AnsweredBy<'Produce', typeof produce>
  | AnsweredBy<'OffsetCommit', typeof offsetCommit>
  | AnsweredBy<'TxnOffsetCommit', typeof txnOffsetCommit>
  | AnsweredBy<'EndTxn', typeof endTxn>

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

/**
 * Reads the bytes between clients and the broker, and tells of each request that writes something at the moment in
 * which the broker has answered it. It shares nothing with those who write but the tables of messages.
 */
export class AnsweredRequests implements WireTap {
  readonly #wires = new Map<number, Wire>()
  readonly #tell: (answered: Answered) => void

  constructor(tell: (answered: Answered) => void) {
    this.#tell = tell
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
      const response = api.response.decode(version, reader)
      this.#tell({ name: api.name, request, response } as Answered)
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
}

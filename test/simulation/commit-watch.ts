import { FrameBuffer } from '../../src/broker/frame-buffer.ts'
import type { WireDirection, WireTap } from '../../src/base/simulated-network.ts'
import { apis } from '../../src/protocol/apis.ts'
import { decodeRequestHeader, decodeResponseHeader } from '../../src/protocol/header.ts'
import { offsetCommit } from '../../src/protocol/messages/8-offset-commit.ts'
import { Reader } from '../../src/protocol/reader.ts'
import type { RequestOf } from '../../src/protocol/schema.ts'

const frameBytesMax = 100 * 1024 * 1024

interface PendingCommit {
  readonly version: number
  readonly correlationId: number
  readonly request: RequestOf<typeof offsetCommit>
}

interface Wire {
  readonly requests: FrameBuffer
  readonly responses: FrameBuffer
  readonly pending: PendingCommit[]
}

/** An offset that the broker has accepted. */
export interface AcceptedOffset {
  readonly offset: number
  readonly memberId: string
  readonly generation: number
}

/**
 * Reads the bytes between clients and the broker: which offsets the broker has accepted, and from whom. It is
 * the judge of what counts as committed, and shares nothing with those who commit but the tables of messages.
 */
export class CommitWatch implements WireTap {
  /** By `topic-partition`. */
  readonly accepted = new Map<string, AcceptedOffset>()
  readonly #wires = new Map<number, Wire>()
  readonly #onBreach: (what: string) => void

  constructor(onBreach: (what: string) => void) {
    this.#onBreach = onBreach
  }

  arrived(connection: number, direction: WireDirection, bytes: Buffer): void {
    if (direction !== 'request') return
    const wire = this.#wire(connection)
    wire.requests.push(bytes)
    for (let frame = wire.requests.next(); frame !== undefined; frame = wire.requests.next()) {
      if (frame.readInt16BE(0) !== offsetCommit.key) continue
      const reader = new Reader(frame, { api: 'a request' })
      const { apiVersion: version, correlationId } = decodeRequestHeader(apis, reader)
      wire.pending.push({
        version,
        correlationId,
        request: offsetCommit.request.decode(version, reader),
      })
    }
  }

  written(connection: number, direction: WireDirection, bytes: Buffer): void {
    if (direction !== 'response') return
    const wire = this.#wire(connection)
    wire.responses.push(bytes)
    for (let frame = wire.responses.next(); frame !== undefined; frame = wire.responses.next()) {
      const pending = wire.pending[0]
      if (pending?.correlationId !== frame.readInt32BE(0)) continue
      wire.pending.shift()
      const reader = new Reader(frame, { api: 'a response' })
      decodeResponseHeader(offsetCommit, pending.version, reader)
      const response = offsetCommit.response.decode(pending.version, reader)
      for (const { name, partitions } of response.topics) {
        for (const { partitionIndex, errorCode } of partitions) {
          if (errorCode === 0) this.#accept(pending, name, partitionIndex)
        }
      }
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

  #accept({ request }: PendingCommit, topic: string, partition: number): void {
    const row = request.topics
      .find(({ name }) => name === topic)
      ?.partitions.find(({ partitionIndex }) => partitionIndex === partition)
    if (row === undefined) return
    const name = `${topic}-${partition}`
    const { memberId, generationIdOrMemberEpoch: generation } = request
    const offset = row.committedOffset
    const before = this.accepted.get(name)
    this.accepted.set(name, { offset, memberId, generation })
    if (before === undefined || before.offset <= offset) return
    this.#onBreach(
      `the committed offset of ${name} went back from ${before.offset} (${before.memberId}, generation ` +
        `${before.generation}) to ${offset} (${memberId}, generation ${generation})`,
    )
  }
}

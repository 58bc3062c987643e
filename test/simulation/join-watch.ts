import type { WirePiece, WireTap } from '../../src/base/simulated-network.ts'
import { joinGroup } from '../../src/protocol/messages/11-join-group.ts'
import type { SimulatedInstance } from '../../src/testing/simulated-instance.ts'

interface PendingJoin {
  readonly instance: SimulatedInstance
  readonly correlationId: number
}

/** In a request behind its size, and in a response with it. */
const correlationIdAt = 4

/** Knows who waits for a rebalance: such a member cannot know how long it may. */
export class JoinWatch implements WireTap {
  /** By connection, on which nothing else is asked meanwhile. */
  readonly #pending = new Map<number, PendingJoin>()
  /** Each instance has one member: when that asks again, it does not wait for what it asked before. */
  readonly #areAlone: boolean

  constructor({ areAlone }: { areAlone: boolean }) {
    this.#areAlone = areAlone
  }

  heard(instance: SimulatedInstance, frame: Buffer, connection: number): void {
    if (frame.readInt16BE(0) !== joinGroup.key) return
    if (this.#areAlone) {
      for (const [other, pending] of this.#pending) {
        if (pending.instance === instance) this.#pending.delete(other)
      }
    }
    const correlationId = frame.readInt32BE(correlationIdAt)
    this.#pending.set(connection, { instance, correlationId })
  }

  /** One whose answer arrives in the smallest of pieces counts as waiting until it asks again. */
  arrived({ connection, direction, bytes }: WirePiece): void {
    if (direction !== 'response' || bytes.length < 2 * correlationIdAt) return
    const pending = this.#pending.get(connection)
    if (pending?.correlationId === bytes.readInt32BE(correlationIdAt)) {
      this.#pending.delete(connection)
    }
  }

  isJoining(instance: SimulatedInstance): boolean {
    for (const pending of this.#pending.values()) if (pending.instance === instance) return true
    return false
  }
}

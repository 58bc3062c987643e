import { FrameBuffer } from '../../src/broker/frame-buffer.ts'
import type { WirePiece, WireTap } from '../../src/base/simulated-network.ts'
import type { SimulatedInstance } from '../../src/testing/simulated-instance.ts'

const frameBytesMax = 100 * 1024 * 1024

/** Tells of each request of an instance, at the moment in which it gives it away. */
export class InstanceRequests implements WireTap {
  readonly #instances: readonly SimulatedInstance[]
  readonly #tell: (instance: SimulatedInstance, frame: Buffer, connection: number) => void
  readonly #requests = new Map<number, FrameBuffer>()

  constructor(
    instances: readonly SimulatedInstance[],
    tell: (instance: SimulatedInstance, frame: Buffer, connection: number) => void,
  ) {
    this.#instances = instances
    this.#tell = tell
  }

  written({ connection, direction, host, bytes }: WirePiece): void {
    const instance = this.#instances.find(({ name }) => name === host)
    if (direction !== 'request' || instance === undefined || instance.state === 'gone') return
    const frames = this.#requests.get(connection) ?? new FrameBuffer(frameBytesMax)
    this.#requests.set(connection, frames)
    frames.push(bytes)
    for (let frame = frames.next(); frame !== undefined; frame = frames.next()) {
      this.#tell(instance, frame, connection)
    }
  }
}

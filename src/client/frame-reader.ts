import { isTlsRecord } from '../base/tls.ts'
import { StreamsError } from '../errors.ts'

const sizeBytes = 4

/** A response begins with its correlation id. */
const frameBytesMin = 4

/** Bounds and destination of a {@link FrameReader}. */
export interface FrameReaderOptions {
  /** Named in errors. */
  readonly peer: string
  /** A frame that claims more is refused, before anything is allocated for it. */
  readonly frameBytesMax: number
  /** Takes one frame without its size: a view of a chunk, or a buffer of its own. */
  readonly onFrame: (frame: Buffer) => void
}

/** Cuts a stream of bytes into frames: an int32 size, then as many bytes. */
export class FrameReader {
  readonly #options: FrameReaderOptions
  readonly #size = Buffer.alloc(sizeBytes)
  #sizeFilled = 0
  /** A frame that comes in several chunks. */
  #frame: Buffer | undefined
  #frameFilled = 0
  #stopped = false

  constructor(options: FrameReaderOptions) {
    this.#options = options
  }

  /** Takes nothing more. */
  stop(): void {
    this.#stopped = true
    this.#frame = undefined
  }

  /** True in the middle of a frame. */
  get isInsideFrame(): boolean {
    return this.#frame !== undefined || this.#sizeFilled > 0
  }

  /**
   * Takes a chunk as it came. Throws `PROTOCOL_MALFORMED` for a size that cannot be, `TLS_FAILED` when it
   * is the beginning of TLS.
   */
  push(chunk: Buffer): void {
    let position = 0
    while (position < chunk.length && !this.#stopped) {
      position =
        this.#frame === undefined
          ? this.#begin(chunk, position)
          : this.#fill(this.#frame, chunk, position)
    }
  }

  #begin(chunk: Buffer, start: number): number {
    const position = start + chunk.copy(this.#size, this.#sizeFilled, start)
    this.#sizeFilled += position - start
    if (this.#sizeFilled < sizeBytes) return position
    this.#sizeFilled = 0
    const size = this.#size.readInt32BE(0)
    if (size < frameBytesMin || size > this.#options.frameBytesMax) this.#refuse(size)
    if (size <= chunk.length - position) {
      this.#options.onFrame(chunk.subarray(position, position + size))
      return position + size
    }
    this.#frame = Buffer.allocUnsafeSlow(size)
    this.#frameFilled = 0
    return position
  }

  #fill(frame: Buffer, chunk: Buffer, start: number): number {
    const position = start + chunk.copy(frame, this.#frameFilled, start)
    this.#frameFilled += position - start
    if (this.#frameFilled === frame.length) {
      this.#frame = undefined
      this.#options.onFrame(frame)
    }
    return position
  }

  #refuse(size: number): never {
    const { peer, frameBytesMax } = this.#options
    if (isTlsRecord(size)) {
      const detail = 'it speaks TLS on this port: state the option tls, or take another port'
      throw new StreamsError('TLS_FAILED', { broker: peer, detail })
    }
    throw new StreamsError('PROTOCOL_MALFORMED', {
      api: `a response of ${peer}`,
      field: 'its size',
      detail: `${size} bytes are claimed, between ${frameBytesMin} and ${frameBytesMax} are accepted`,
    })
  }
}

import { StreamsError } from '../errors.ts'

const sizeBytes = 4

/**
 * Cuts a byte stream into frames: a size as int32, then so many bytes. Memory is taken for what has
 * arrived, never for what a size promises.
 */
export class FrameBuffer {
  readonly #frameBytesMax: number
  #chunks: Buffer[] = []
  #bytes = 0

  constructor(frameBytesMax: number) {
    this.#frameBytesMax = frameBytesMax
  }

  /** Bytes that wait to be taken. */
  get bytes(): number {
    return this.#bytes
  }

  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
  }

  /**
   * The next whole frame without its size; undefined when it has not arrived yet.
   *
   * @throws StreamsError `PROTOCOL_MALFORMED` for a size that no request has.
   */
  next(): Buffer | undefined {
    if (this.#bytes < sizeBytes) return undefined
    const size = this.#gather(sizeBytes).readInt32BE(0)
    if (size < 0 || size > this.#frameBytesMax) {
      const detail = `a request of ${size} bytes, at most ${this.#frameBytesMax} are accepted`
      throw new StreamsError('PROTOCOL_MALFORMED', { api: 'a request', field: 'its size', detail })
    }
    const end = sizeBytes + size
    if (this.#bytes < end) return undefined
    const first = this.#gather(end)
    this.#bytes -= end
    if (first.length === end) this.#chunks.shift()
    else this.#chunks[0] = first.subarray(end)
    return first.subarray(sizeBytes, end)
  }

  /** The first chunk, with at least so many bytes: the chunks that it takes become one. */
  #gather(length: number): Buffer {
    const first = this.#chunks[0] as Buffer
    if (first.length >= length) return first
    let count = 0
    for (let bytes = 0; bytes < length; count += 1) bytes += (this.#chunks[count] as Buffer).length
    const gathered = Buffer.concat(this.#chunks.slice(0, count))
    this.#chunks.splice(0, count, gathered)
    return gathered
  }
}

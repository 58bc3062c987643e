import { StreamsError } from '../errors.ts'

const sizeBytes = 4

/**
 * Cuts a byte stream into frames: a size as int32, then so many bytes. Memory is taken for what has
 * arrived, never for what a size promises.
 */
export class FrameBuffer {
  readonly #frameBytesMax: number
  /** Those before `#first` are done: taking one off the front each time would move all others. */
  #chunks: Buffer[] = []
  #first = 0
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
    if (first.length === end) this.#first += 1
    else this.#chunks[this.#first] = first.subarray(end)
    if (this.#first === this.#chunks.length) {
      this.#chunks = []
      this.#first = 0
    }
    return first.subarray(sizeBytes, end)
  }

  /** The first chunk, with at least so many bytes: the chunks that it takes become one. */
  #gather(length: number): Buffer {
    const first = this.#chunks[this.#first] as Buffer
    if (first.length >= length) return first
    let end = this.#first
    for (let bytes = 0; bytes < length; end += 1) bytes += (this.#chunks[end] as Buffer).length
    const gathered = Buffer.concat(this.#chunks.slice(this.#first, end))
    this.#chunks = [gathered, ...this.#chunks.slice(end)]
    this.#first = 0
    return gathered
  }
}

import { sleep, systemClock } from '../../base/clock.ts'
import type { Producer } from '../../client/producer.ts'
import { LineSplitter, type Line } from './line-splitter.ts'
import type { ReadingProgress } from './reading-progress.ts'
import type { TextInput } from './text-input.ts'

/** Bytes on their way to the broker, above which reading waits. */
const unacknowledgedBytesMax = 8 * 1024 * 1024

/** Milliseconds between two notes of how far the input is acknowledged. */
const saveIntervalMs = 1000

export interface LineFeederOptions {
  readonly producer: Producer
  readonly topic: string
  readonly progress: ReadingProgress
  /** Lines a second; undefined: as fast as the broker takes them. */
  readonly rate: number | undefined
  /** Ends reading. */
  readonly signal: AbortSignal
}

/** Reads inputs line by line, and writes each line as a record. */
export class LineFeeder {
  readonly #options: LineFeederOptions
  /** Lines that were read. */
  lines = 0
  #savedAt = systemClock.monotonic()
  /** When the next line may be sent. */
  #due = systemClock.monotonic()

  constructor(options: LineFeederOptions) {
    this.#options = options
  }

  /**
   * Reads the inputs to their end, or until the signal aborts. What was read is acknowledged and noted
   * then. Rejects when an input cannot be read or a line cannot be written.
   */
  async feed(inputs: readonly TextInput[]): Promise<void> {
    for (const input of inputs) {
      if (this.#options.signal.aborted) break
      await this.#feedOne(input)
    }
    await this.#save()
  }

  async #feedOne(input: TextInput): Promise<void> {
    const { signal, progress } = this.#options
    const start = input.progressName === undefined ? 0 : progress.bytesOf(input.progressName)
    const splitter = new LineSplitter(start)
    const stream = input.open(start)
    const abort = (): void => void stream.destroy()
    signal.addEventListener('abort', abort, { once: true })
    try {
      for await (const chunk of stream) {
        await this.#send(input, splitter.push(chunk as Buffer))
        if (signal.aborted) return
      }
      if (!signal.aborted) await this.#send(input, splitter.finish())
    } catch (error) {
      // The end of a stream that we have destroyed.
      if (!signal.aborted) throw error
    } finally {
      signal.removeEventListener('abort', abort)
    }
  }

  async #send(input: TextInput, lines: readonly Line[]): Promise<void> {
    const { producer, topic, rate, signal, progress } = this.#options
    for (const { bytes, end } of lines) {
      if (rate !== undefined) await this.#pace(rate)
      if (signal.aborted) return
      const partition = this.lines % producer.partitionCount(topic)
      producer.send(topic, partition, null, bytes, systemClock.now(), [])
      this.lines += 1
      if (input.progressName !== undefined) progress.note(input.progressName, end)
      if (producer.queuedBytes > unacknowledgedBytesMax) {
        await producer.drained(unacknowledgedBytesMax, signal)
      }
      if (systemClock.monotonic() - this.#savedAt >= saveIntervalMs) await this.#save()
    }
  }

  /** Waits until the next line is due; a pause of the input is not caught up with. */
  async #pace(rate: number): Promise<void> {
    const now = systemClock.monotonic()
    this.#due = Math.max(this.#due, now - 1000 / rate)
    this.#due += 1000 / rate
    if (this.#due > now) await sleep(systemClock, this.#due - now, this.#options.signal)
  }

  /** First the broker has the lines, then it is noted: a crash between the two counts them again. */
  async #save(): Promise<void> {
    const { producer, progress } = this.#options
    await producer.flush()
    progress.save()
    this.#savedAt = systemClock.monotonic()
  }
}

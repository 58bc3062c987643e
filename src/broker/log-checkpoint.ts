import type { Disk } from '../base/disk.ts'
import { StreamsError, messageOf } from '../errors.ts'
import { readInt64, writeInt64 } from '../protocol/record-batch-layout.ts'

const fileName = 'checkpoint.json'
const startOffsetFileName = 'start-offset'
const startOffsetBytes = 8

/** More ranges than this are put together, as if the older ones had been cleaned later. */
const rangesMax = 1000

/** Records up to `endOffset` went through the cleaner for the first time at `cleanedAtMs`. */
export interface CleanedRange {
  readonly endOffset: number
  readonly cleanedAtMs: number
}

interface Content {
  readonly cleaned: readonly CleanedRange[]
}

/**
 * What must be known about a log besides its segments: the start offset that was asked for, and
 * when its parts were cleaned first. From that time on a tombstone is kept for
 * `delete.retention.ms`, so that whoever read the value before it has that long to read the
 * tombstone.
 */
export class LogCheckpoint {
  readonly #disk: Disk
  readonly #path: string
  readonly #startOffsetPath: string
  #content: Content
  #startOffset: number

  constructor(disk: Disk, directory: string) {
    this.#disk = disk
    this.#path = `${directory}/${fileName}`
    this.#startOffsetPath = `${directory}/${startOffsetFileName}`
    this.#content = read(directory, disk.readFile(this.#path))
    this.#startOffset = readStartOffset(disk.readFile(this.#startOffsetPath))
  }

  get startOffset(): number {
    return this.#startOffset
  }

  /** The offset after what was cleaned at least once. */
  get cleanedTo(): number {
    return this.#content.cleaned.at(-1)?.endOffset ?? 0
  }

  /**
   * Like the records, it is handed to the operating system and not put on the medium: Kafka Streams
   * deletes what it has read from its repartition topics at every commit.
   */
  setStartOffset(startOffset: number): void {
    const bytes = Buffer.alloc(startOffsetBytes)
    writeInt64(bytes, 0, startOffset)
    using file = this.#disk.open(this.#startOffsetPath, { create: true })
    file.write(bytes, 0)
    this.#startOffset = startOffset
  }

  /**
   * Notes that everything before the offset is clean. Ranges that became clean before
   * `forgetBeforeMs` are put together: their tombstones may all go.
   */
  setCleaned(range: CleanedRange, forgetBeforeMs: number): void {
    const cleaned = [...this.#content.cleaned]
    if (range.endOffset > this.cleanedTo) cleaned.push(range)
    while (
      cleaned.length > 1 &&
      (cleaned.length > rangesMax || (cleaned[1] as CleanedRange).cleanedAtMs < forgetBeforeMs)
    )
      cleaned.shift()
    this.#write({ cleaned })
  }

  /** When the record at this offset was cleaned first; Infinity when it was not. */
  cleanedAtMs(offset: number): number {
    const range = this.#content.cleaned.find((one) => offset < one.endOffset)
    return range?.cleanedAtMs ?? Number.POSITIVE_INFINITY
  }

  #write(content: Content): void {
    this.#disk.writeFileAtomic(this.#path, Buffer.from(JSON.stringify(content)))
    this.#content = content
  }
}

/**
 * A file that the machine's crash has left empty tells nothing: what was deleted is there again.
 */
function readStartOffset(bytes: Buffer | undefined): number {
  return bytes?.length === startOffsetBytes ? readInt64(bytes, 0) : 0
}

function read(directory: string, bytes: Buffer | undefined): Content {
  if (bytes === undefined) return { cleaned: [] }
  try {
    return JSON.parse(bytes.toString('utf8')) as Content
  } catch (error) {
    const detail = `${fileName} is damaged: ${messageOf(error)}`
    throw new StreamsError('STATE_DIRECTORY_FAILED', { directory, detail }, { cause: error })
  }
}

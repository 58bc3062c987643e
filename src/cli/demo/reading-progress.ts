import { systemDisk, type Disk } from '../../base/disk.ts'
import { StreamsError } from '../../errors.ts'

/** Another form of the file gets another number. */
const formatVersion = 1

/**
 * How far each input was read and acknowledged, in a file beside the data of the broker: what a demo
 * that is started again on the same directory need not count again.
 */
export class ReadingProgress {
  readonly #path: string
  readonly #disk: Disk
  readonly #bytes: Map<string, number>

  /** Throws `STATE_DIRECTORY_FAILED` for a file that is none of ours. */
  constructor(path: string, disk: Disk = systemDisk) {
    this.#path = path
    this.#disk = disk
    this.#bytes = new Map(this.#load())
  }

  /** Bytes of that input that are counted. */
  bytesOf(name: string): number {
    return this.#bytes.get(name) ?? 0
  }

  note(name: string, bytes: number): void {
    this.#bytes.set(name, bytes)
  }

  /** Forgets all inputs: they are read from their beginning the next time. */
  clear(): void {
    this.#bytes.clear()
  }

  /** Call it when everything up to here is acknowledged. Throws `DISK_FAILED`. */
  save(): void {
    const inputs = Object.fromEntries(this.#bytes)
    const text = `${JSON.stringify({ version: formatVersion, inputs }, undefined, 2)}\n`
    this.#disk.writeFileAtomic(this.#path, Buffer.from(text))
  }

  #load(): [string, number][] {
    const bytes = this.#disk.readFile(this.#path)
    if (bytes === undefined) return []
    try {
      const { version, inputs } = JSON.parse(bytes.toString()) as {
        version: unknown
        inputs: Record<string, unknown>
      }
      const entries = Object.entries(inputs) as [string, number][]
      if (version === formatVersion && entries.every(([, count]) => isByteCount(count))) {
        return entries
      }
    } catch {
      // Told below, as any other content that is none of ours.
    }
    throw new StreamsError('STATE_DIRECTORY_FAILED', {
      directory: this.#path,
      detail: 'the file does not say how far the inputs were read; use another --data-dir',
    })
  }
}

function isByteCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0
}

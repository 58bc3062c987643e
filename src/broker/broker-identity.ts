import type { Disk } from '../base/disk.ts'
import type { Random } from '../base/random.ts'
import { StreamsError, messageOf } from '../errors.ts'

/** Producer ids are reserved on the medium by so many at a time. */
const producerIdBlock = 1000

interface Content {
  readonly clusterId: string
  readonly startCount: number
  readonly nextProducerId: number
}

/**
 * What a broker must remember about itself, in `broker.json`: the id of its cluster, how often it
 * was started, and which producer ids were given away. None of these is ever used again after a
 * restart.
 */
export class BrokerIdentity {
  readonly #disk: Disk
  readonly #path: string
  #content: Content
  #nextProducerId: number

  /** Reads the file, or makes a new identity, and counts this start. */
  constructor(options: { disk: Disk; random: Random; dataDir: string }) {
    this.#disk = options.disk
    this.#path = `${options.dataDir}/broker.json`
    const stored = read(options.dataDir, options.disk.readFile(this.#path))
    this.#content = stored ?? {
      clusterId: options.random.bytes(16).toString('base64url'),
      startCount: 0,
      nextProducerId: 0,
    }
    this.#nextProducerId = this.#content.nextProducerId
    this.#write({ ...this.#content, startCount: this.#content.startCount + 1 })
  }

  get clusterId(): string {
    return this.#content.clusterId
  }

  /**
   * The epoch in which this broker leads all its partitions: 0 in its first life, one more in each.
   * A client thereby sees a restart, and asks whether a crash of the machine took records away.
   */
  get leaderEpoch(): number {
    return this.#content.startCount - 1
  }

  /** A producer id that nobody had before. @throws StreamsError `DISK_FAILED` */
  newProducerId(): number {
    if (this.#nextProducerId >= this.#content.nextProducerId) {
      const nextProducerId = this.#nextProducerId + producerIdBlock
      this.#write({ ...this.#content, nextProducerId })
    }
    const id = this.#nextProducerId
    this.#nextProducerId += 1
    return id
  }

  #write(content: Content): void {
    this.#disk.writeFileAtomic(this.#path, Buffer.from(JSON.stringify(content)))
    this.#content = content
  }
}

function read(directory: string, bytes: Buffer | undefined): Content | undefined {
  if (bytes === undefined) return undefined
  try {
    return JSON.parse(bytes.toString('utf8')) as Content
  } catch (error) {
    const detail = `broker.json is damaged: ${messageOf(error)}`
    throw new StreamsError('STATE_DIRECTORY_FAILED', { directory, detail }, { cause: error })
  }
}

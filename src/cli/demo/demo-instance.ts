import { join } from 'node:path'
import { ChildProgram, type ProgramEnd } from './child-program.ts'
import type { HttpReader } from './http-reader.ts'

/** What the demo knows of an instance at the moment. */
export interface InstanceStatus {
  readonly name: string
  /** Its state as it tells it; `starting`, or `stopped` when it does not answer. */
  readonly state: string
}

export interface DemoInstanceParts {
  readonly index: number
  /** 0: any free one; it is kept once it is known. */
  readonly port: number
  readonly broker: string
  readonly dataDir: string
  readonly http: HttpReader
  /** Hears when it ends without being asked. */
  readonly onEnd: (instance: DemoInstance, end: ProgramEnd) => void
  /** Hears of the failure that will end it. */
  readonly onFailure: (instance: DemoInstance, message: string) => void
}

/** An instance of word count in a process of its own, which may die and be started again. */
export class DemoInstance {
  readonly #parts: DemoInstanceParts
  #port: number
  #program: ChildProgram | undefined
  #isStopping = false
  #state = 'starting'
  #processed = 0
  #hasRun = false
  #isComingBack = false

  constructor(parts: DemoInstanceParts) {
    this.#parts = parts
    this.#port = parts.port
  }

  get name(): string {
    return `instance ${this.#parts.index + 1}`
  }

  /** Undefined until it is known. */
  get port(): number | undefined {
    return this.#port === 0 ? undefined : this.#port
  }

  get pid(): number | undefined {
    return this.#program?.pid
  }

  /** True while its process is there. */
  get isAlive(): boolean {
    return this.#program !== undefined && this.#program.end === undefined
  }

  /** Arguments of `millpond` that start this instance, also from another terminal. */
  get args(): readonly string[] {
    const { index, broker, dataDir } = this.#parts
    const stateDir = join(dataDir, `instance-${index + 1}`)
    const port = String(this.#port)
    return ['demo-instance', '--broker', broker, '--port', port, '--state-dir', stateDir]
  }

  /** Starts the process; resolves when it is running, rejects when it ends before. */
  async start(): Promise<void> {
    this.#isComingBack = this.#hasRun
    const program = new ChildProgram(this.args, (message) => {
      this.#parts.onFailure(this, message)
    })
    this.#program = program
    this.#state = 'starting'
    void program.ended.then((end) => {
      if (!this.#isStopping) this.#parts.onEnd(this, end)
    })
    this.#port = await program.ready
    this.#hasRun = true
    this.#isComingBack = false
  }

  /** True while it is started again: what fails then leaves the others as they are. */
  get isComingBack(): boolean {
    return this.#isComingBack
  }

  /** True when somebody answers at its port: another terminal may have started it. */
  async isAnswering(): Promise<boolean> {
    if (this.port === undefined) return false
    return (await this.#parts.http.get(this.port, '/livez')) !== undefined
  }

  /** Lets it commit and leave; kills it when that takes too long. */
  async stop(timeoutMs: number): Promise<void> {
    this.#isStopping = true
    await this.#program?.stop(timeoutMs)
  }

  kill(): void {
    this.#isStopping = true
    this.#program?.kill()
  }

  /** Asks how it is; returns the records that it has processed since the last time. */
  async refresh(): Promise<number> {
    if (this.port === undefined) return 0
    const { http } = this.#parts
    const ready = await http.get(this.port, '/readyz')
    if (ready === undefined) {
      // Whoever starts it from another terminal brings it back; this one only looks.
      if (this.#state !== 'starting' || !this.isAlive) this.#state = 'stopped'
      return 0
    }
    this.#state = stateOf(ready.text)
    const metrics = await http.get(this.port, '/metrics')
    const processed = processedRecords(metrics?.text ?? '')
    if (processed === undefined) return 0
    // A new process counts from zero.
    const delta = processed < this.#processed ? processed : processed - this.#processed
    this.#processed = processed
    return delta
  }

  get status(): InstanceStatus {
    return { name: String(this.port ?? this.name), state: this.#state }
  }
}

function stateOf(text: string): string {
  try {
    const { state, restoring } = JSON.parse(text) as { state?: unknown; restoring?: unknown }
    if (Array.isArray(restoring) && restoring.length > 0) return 'restoring'
    return typeof state === 'string' ? state : 'unknown'
  } catch {
    return 'unknown'
  }
}

function processedRecords(metrics: string): number | undefined {
  const match = /^millpond_records_processed_total (\d+)$/m.exec(metrics)
  return match === null ? undefined : Number(match[1])
}

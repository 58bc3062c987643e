import { join } from 'node:path'
import { ChildProgram, endLine, type ProgramEnd } from './child-program.ts'
import { DemoInstance } from './demo-instance.ts'
import type { HttpReader } from './http-reader.ts'
import { takeoverLine } from './takeover.ts'

/** Milliseconds that a program has to stop before it is killed. */
const stopTimeoutMs = 20_000

/** The same after a failure, which may well keep it from stopping. */
const stopTimeoutAfterFailureMs = 4000

export interface DemoClusterOptions {
  readonly dataDir: string
  readonly instances: number
  readonly port: number
  readonly http: HttpReader
  /** Writes a line for the user. */
  readonly say: (line: string) => void
  /** The demo cannot go on, for this reason. */
  readonly fail: (reason: string) => void
}

/** The processes of the demo: a broker and the instances, which may die and come back. */
export class DemoCluster {
  readonly #options: DemoClusterOptions
  #broker: ChildProgram | undefined
  #instances: readonly DemoInstance[] = []
  #isStopping = false

  constructor(options: DemoClusterOptions) {
    this.#options = options
  }

  get instances(): readonly DemoInstance[] {
    return this.#instances
  }

  /** Ports of the instances, as far as they are known. */
  get ports(): number[] {
    return this.#instances.flatMap(({ port }) => (port === undefined ? [] : [port]))
  }

  /** Starts the broker; returns its address. */
  async startBroker(): Promise<string> {
    const { dataDir, fail } = this.#options
    const host = '127.0.0.1'
    const args = ['broker', '--host', host, '--port', '0', '--data-dir', join(dataDir, 'broker')]
    const broker = new ChildProgram(args, fail)
    this.#broker = broker
    void broker.ended.then((end) => {
      if (!this.#isStopping) fail(`The dev broker is gone: ${endLine(end)}`)
    })
    return `${host}:${await broker.ready}`
  }

  /** Starts the instances; resolves when each is running or has failed. */
  async startInstances(broker: string): Promise<void> {
    const { instances, port, dataDir, http } = this.#options
    this.#instances = Array.from({ length: instances }, (_, index) => {
      const ownPort = port === 0 ? 0 : port + index
      return new DemoInstance({
        index,
        port: ownPort,
        broker,
        dataDir,
        http,
        onEnd: (instance, end) => this.#instanceEnded(instance, end),
        onFailure: (instance, message) => this.#instanceFailed(instance, message),
      })
    })
    await Promise.allSettled(this.#instances.map((instance) => instance.start()))
  }

  /** Starts the instances again that have died, and that nobody else has started. */
  async restart(): Promise<void> {
    const { say } = this.#options
    const dead = this.#instances.filter(({ isAlive }) => !isAlive)
    if (dead.length === 0) say('All instances are there.')
    for (const instance of dead) {
      if (await instance.isAnswering()) continue
      say(`Starting ${instance.name} again.`)
      void instance.start().then(
        () => say(`${instance.name} is back.`),
        () => undefined,
      )
    }
  }

  /** Instances first, so that they can commit and leave; then the broker. */
  async stop({ failed }: { failed: boolean }): Promise<void> {
    this.#isStopping = true
    // Without a broker there is nothing that they could wait for.
    if (this.#broker?.end !== undefined) this.kill()
    const timeoutMs = failed ? stopTimeoutAfterFailureMs : stopTimeoutMs
    await Promise.all(this.#instances.map((instance) => instance.stop(timeoutMs)))
    await this.#broker?.stop(timeoutMs)
  }

  /** Ends everything at once. */
  kill(): void {
    this.#isStopping = true
    for (const instance of this.#instances) instance.kill()
    this.#broker?.kill()
  }

  #instanceFailed(instance: DemoInstance, message: string): void {
    const { say, fail } = this.#options
    const line = `${instance.name}: ${message}`
    if (instance.isComingBack) say(line)
    else fail(line)
  }

  #instanceEnded(instance: DemoInstance, end: ProgramEnd): void {
    if (this.#isStopping) return
    const { say } = this.#options
    const command = [process.execPath, ...process.execArgv, process.argv[1] ?? '', ...instance.args]
    say(`${instance.name} (port ${instance.port ?? 'unknown'}) is gone: ${endLine(end)}.`)
    const others = this.#instances.filter((one) => one !== instance && one.isAlive)
    say(takeoverLine(end, others.length))
    say(`  kill -USR2 ${process.pid}`)
    say(`  ${command.map(quoted).join(' ')}`)
  }
}

/** A word of a shell command. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", String.raw`'\''`)}'`
}

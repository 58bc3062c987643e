import { spawn, type ChildProcess } from 'node:child_process'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('../../dist/cli/main.js', import.meta.url))

/** How a program has ended. */
export interface ProgramResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** The built `millpond` as a person runs it. Disposed, it is gone, and so is what it has started. */
export class MillpondProcess implements AsyncDisposable {
  readonly result: Promise<ProgramResult>
  readonly #process: ChildProcess
  readonly #watchers = new Set<() => void>()
  stdout = ''
  stderr = ''

  constructor(...args: readonly string[]) {
    this.#process = spawn(process.execPath, [program, ...args], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: { ...process.env, NODE_NO_WARNINGS: '1' },
    })
    this.#process.stdin?.on('error', () => undefined)
    this.#process.stdout?.on('data', (bytes: Buffer) => {
      this.stdout += bytes.toString()
      this.#look()
    })
    this.#process.stderr?.on('data', (bytes: Buffer) => {
      this.stderr += bytes.toString()
      this.#look()
    })
    this.result = new Promise((resolve) => {
      this.#process.once('close', (code) => {
        const { stdout, stderr } = this
        resolve({ code, stdout, stderr })
        this.#look()
      })
    })
  }

  get pid(): number {
    return this.#process.pid ?? 0
  }

  /** Writes to its standard input. */
  write(text: string): void {
    this.#process.stdin?.write(text)
  }

  /** Ends its standard input. */
  endInput(): void {
    this.#process.stdin?.end()
  }

  signal(name: NodeJS.Signals): void {
    this.#process.kill(name)
  }

  /** Waits for words on standard error; rejects when the program ends without them. */
  said(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      const look = (): void => {
        const match = pattern.exec(this.stderr)
        if (match === null && this.#process.exitCode === null) return
        this.#watchers.delete(look)
        if (match === null) reject(new Error(`it ended without ${pattern.source}: ${this.stderr}`))
        else resolve(match)
      }
      this.#watchers.add(look)
      look()
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#process.exitCode === null && this.#process.signalCode === null) {
      // The second signal ends it at once, with everything that it has started.
      this.#process.kill('SIGINT')
      this.#process.kill('SIGTERM')
    }
    await this.result
  }

  #look(): void {
    for (const watcher of this.#watchers) watcher()
  }
}

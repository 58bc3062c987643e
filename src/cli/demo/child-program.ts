import { spawn, type ChildProcess } from 'node:child_process'
import type { ChildMessage, ParentMessage } from './parent-link.ts'

/** Characters of what a program wrote to standard error that are kept: the end of it. */
const errorTextMax = 4000

/** How a program has ended. */
export interface ProgramEnd {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** What it gave as its reason, or the last line of its standard error. */
  readonly reason: string | undefined
}

/** A program of ours in a process of its own. */
export class ChildProgram {
  /** Resolves with its port once it is ready; rejects when it ends before. */
  readonly ready: Promise<number>
  /** Resolves when it has ended, for whatever reason. */
  readonly ended: Promise<ProgramEnd>
  readonly #process: ChildProcess
  #failure: string | undefined
  #errorText = ''
  #end: ProgramEnd | undefined

  /**
   * Starts `millpond <args>`. It is in a process group of its own: Ctrl-C in the terminal reaches the
   * demo alone, which then stops its programs in their order.
   *
   * @param onFailure hears of a failure when the program tells of it, which is before it ends.
   */
  constructor(args: readonly string[], onFailure: (message: string) => void = () => undefined) {
    const [, program = ''] = process.argv
    this.#process = spawn(process.execPath, [...process.execArgv, program, ...args], {
      detached: true,
      windowsHide: true,
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    })
    this.ended = new Promise((resolve) => {
      this.#process.once('error', (error) => {
        this.#failure ??= error.message
        resolve(this.#noteEnd(null, null))
      })
      this.#process.once('close', (code, signal) => resolve(this.#noteEnd(code, signal)))
    })
    this.#process.stderr?.on('data', (bytes: Buffer) => {
      this.#errorText = (this.#errorText + bytes.toString()).slice(-errorTextMax)
    })
    this.ready = new Promise((resolve, reject) => {
      this.#process.on('message', (message: ChildMessage) => {
        if (message.type === 'ready') resolve(message.port)
        else {
          this.#failure ??= message.message
          onFailure(message.message)
        }
      })
      void this.ended.then((end) => reject(new Error(endLine(end))))
    })
    this.ready.catch(() => undefined)
  }

  get pid(): number | undefined {
    return this.#process.pid
  }

  /** Undefined while it runs. */
  get end(): ProgramEnd | undefined {
    return this.#end
  }

  /** Lets it finish its work and end; kills it when that takes too long. */
  async stop(timeoutMs: number): Promise<ProgramEnd> {
    const message: ParentMessage = { type: 'stop' }
    if (this.#process.connected) this.#process.send(message, () => undefined)
    const timer = setTimeout(() => this.kill(), timeoutMs)
    try {
      return await this.ended
    } finally {
      clearTimeout(timer)
    }
  }

  /** Ends it at once. */
  kill(): void {
    this.#process.kill('SIGKILL')
  }

  #noteEnd(code: number | null, signal: NodeJS.Signals | null): ProgramEnd {
    const lastLine = this.#errorText.trimEnd().split('\n').at(-1)
    const reason = this.#failure ?? (lastLine === '' ? undefined : lastLine)
    this.#end ??= { code, signal, reason }
    return this.#end
  }
}

/** How a program has ended, in words. */
export function endLine({ code, signal, reason }: ProgramEnd): string {
  if (reason !== undefined) return reason
  return signal === null
    ? `it ended with exit code ${code ?? 'unknown'}`
    : `it was killed (${signal})`
}

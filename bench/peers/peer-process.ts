import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { PeerEvent } from './millpond/settings.ts'
import { within, type Bound } from './wait.ts'

const stopTimeoutMs = 20_000

/** What is kept of standard error, to be shown when the program fails. */
const errorCharactersMax = 4_000

/** Linux keeps no peak of it. */
const memoryLookMs = 100

/** Linux counts processor time in hundredths of a second, whatever the kernel ticks. */
const ticksPerSecond = 100

/** What a process has used so far. Zero where there is no /proc. */
export interface Usage {
  readonly cpuSeconds: number
  /** Most memory that it had at one time (VmHWM), in MB. */
  readonly peakMemoryMb: number
  /** What it has of its own now (RssAnon), in MB: without the pages of files that it has mapped. */
  readonly ownMemoryMb: number
}

/** What the process of that id has used. */
export function usageOf(pid: number): Usage {
  try {
    // Its name may have spaces and is in parentheses; user and system time are fields 14 and 15.
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    const megabytes = (name: string): number => {
      const [, kilobytes = 0] = new RegExp(`^${name}:\\s+(\\d+) kB$`, 'm').exec(status) ?? []
      return Math.round(Number(kilobytes) / 1024)
    }
    return {
      cpuSeconds: (Number(fields[11]) + Number(fields[12])) / ticksPerSecond,
      peakMemoryMb: megabytes('VmHWM'),
      ownMemoryMb: megabytes('RssAnon'),
    }
  } catch {
    return { cpuSeconds: 0, peakMemoryMb: 0, ownMemoryMb: 0 }
  }
}

/**
 * A program that tells what happens on its standard output, a line of JSON each, and ends when its
 * standard input closes: with us, however we end.
 */
export class PeerProcess implements AsyncDisposable {
  readonly startedAt = Date.now()
  readonly #child: ChildProcess
  readonly #events = new Map<string, PeerEvent>()
  readonly #ended: Promise<void>
  /** Calls back on each event, and at the end. */
  #news: () => void = () => undefined
  #errors = ''
  #failure: Error | undefined
  #ownMemoryMbMax = 0

  constructor(command: readonly string[]) {
    const [program = '', ...args] = command
    this.#child = spawn(program, args, { stdio: ['pipe', 'pipe', 'pipe'] })
    this.#child.stdin?.on('error', () => undefined)
    this.#child.stderr?.setEncoding('utf8').on('data', (text: string) => {
      this.#errors = (this.#errors + text).slice(-errorCharactersMax)
    })
    if (this.#child.stdout !== null)
      createInterface({ input: this.#child.stdout }).on('line', (line) => this.#take(line))
    const looks = setInterval(() => this.usage(), memoryLookMs)
    this.#ended = new Promise<void>((resolve) => {
      this.#child.once('error', (error) => this.#end(error, resolve))
      this.#child.once('close', (code, signal) => {
        const how = `it ended with ${code === null ? signal : `code ${code}`}`
        this.#end(new Error(`${how}\n${this.#errors}`), resolve)
      })
    }).finally(() => clearInterval(looks))
  }

  #take(line: string): void {
    if (!line.startsWith('{')) return
    const told = JSON.parse(line) as PeerEvent
    if (!this.#events.has(told.event)) this.#events.set(told.event, told)
    this.#news()
  }

  #end(error: Error, resolve: () => void): void {
    this.#failure ??= error
    this.#news()
    resolve()
  }

  /** Throws when the program has ended. */
  assertAlive(): void {
    if (this.#failure !== undefined) throw this.#failure
  }

  /** The first such event that was told so far. */
  told(event: PeerEvent['event']): PeerEvent | undefined {
    return this.#events.get(event)
  }

  /** Waits for one of these events; rejects when the program ends before. */
  event(names: readonly PeerEvent['event'][], bound: Bound): Promise<PeerEvent> {
    const told = new Promise<PeerEvent>((resolve, reject) => {
      this.#news = () => {
        const found = names.map((name) => this.#events.get(name)).find((one) => one !== undefined)
        if (found !== undefined) resolve(found)
        else if (this.#failure !== undefined) reject(this.#failure)
      }
      this.#news()
    })
    return within(told, bound)
  }

  /** The memory of its own is the most that was seen. */
  usage(): Usage {
    const usage = usageOf(this.#child.pid ?? 0)
    this.#ownMemoryMbMax = Math.max(this.#ownMemoryMbMax, usage.ownMemoryMb)
    return { ...usage, ownMemoryMb: this.#ownMemoryMbMax }
  }

  /** Lets it close; kills it when that takes too long. Idempotent. */
  async close(): Promise<void> {
    this.#child.stdin?.end()
    const timer = setTimeout(() => this.#child.kill('SIGKILL'), stopTimeoutMs)
    await this.#ended
    clearTimeout(timer)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

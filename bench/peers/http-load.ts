/**
 * Reads random keys over HTTP from a number of connections, each of which asks again as soon as it is
 * answered, and checks each answer. Tells its figures as an event `done`. It speaks just enough HTTP to
 * be faster than any server under test on the same core.
 */
import { connect, type Socket } from 'node:net'
import { performance } from 'node:perf_hooks'

/** What is asked of the client. */
export interface LoadPlan {
  /** Everything before the key. */
  readonly url: string
  readonly keys: number
  /** Which every answer must hold. */
  readonly value: number
  readonly connections: number
  readonly warmUpSeconds: number
  readonly seconds: number
}

/** What came of it, without the warm-up. */
export interface LoadResult {
  readonly requests: number
  readonly perSecond: number
  readonly p50Ms: number
  readonly p99Ms: number
  /** Processor time of the client, as a part of the time: near 1, the client is the limit. */
  readonly clientCpu: number
}

const keyDigits = 6

class LoadClient {
  readonly #plan: LoadPlan
  readonly #head: string
  readonly #tail: string
  readonly #answer: RegExp
  readonly #latencies: number[] = []
  #state = 1
  #isMeasuring = false
  #isOver = false

  constructor(plan: LoadPlan) {
    const { host, pathname } = new URL(plan.url)
    this.#plan = plan
    this.#head = `GET ${pathname}key-`
    this.#tail = ` HTTP/1.1\r\nHost: ${host}\r\nAccept: application/json\r\n\r\n`
    this.#answer = new RegExp(`"value":${plan.value}[,}]`)
  }

  async run(): Promise<LoadResult> {
    const { connections, warmUpSeconds, seconds } = this.#plan
    const lanes = Array.from({ length: connections }, () => this.#lane())
    // A lane that fails ends all: its error is the result.
    const failed = Promise.all(lanes).then(() => undefined)
    await Promise.race([failed, pause(warmUpSeconds)])
    this.#isMeasuring = true
    const startedAt = performance.now()
    const cpuBefore = process.cpuUsage()
    await Promise.race([failed, pause(seconds)])
    const elapsedMs = performance.now() - startedAt
    const cpu = process.cpuUsage(cpuBefore)
    this.#isOver = true
    await failed
    const sorted = Float64Array.from(this.#latencies).sort()
    const quantile = (part: number): number =>
      round(sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0)
    return {
      requests: sorted.length,
      perSecond: Math.round((sorted.length * 1000) / elapsedMs),
      p50Ms: quantile(0.5),
      p99Ms: quantile(0.99),
      clientCpu: round((cpu.user + cpu.system) / 1000 / elapsedMs),
    }
  }

  #nextKey(): string {
    this.#state = (Math.imul(this.#state, 1_664_525) + 1_013_904_223) >>> 0
    const key = Math.floor((this.#state / 2 ** 32) * this.#plan.keys)
    return String(key).padStart(keyDigits, '0')
  }

  /** One connection, until all is over. */
  #lane(): Promise<void> {
    const { hostname, port } = new URL(this.#plan.url)
    return new Promise((resolve, reject) => {
      const socket = connect({ host: hostname, port: Number(port), noDelay: true })
      let askedAt = 0
      let text = ''
      const ask = (): void => {
        askedAt = performance.now()
        socket.write(`${this.#head}${this.#nextKey()}${this.#tail}`)
      }
      socket.setEncoding('latin1').on('data', (chunk: Buffer | string) => {
        text += String(chunk)
        if (!isWhole(text)) return
        if (!text.startsWith('HTTP/1.1 200 ') || !this.#answer.test(text)) {
          fail(socket, reject, `the answer was not the right one:\n${text}`)
          return
        }
        text = ''
        if (this.#isMeasuring && !this.#isOver) this.#latencies.push(performance.now() - askedAt)
        if (!this.#isOver) ask()
        else {
          resolve()
          socket.destroy()
        }
      })
      socket.once('connect', ask)
      socket.once('error', reject)
      socket.once('close', () => reject(new Error('the connection was closed')))
    })
  }
}

function fail(socket: Socket, reject: (error: Error) => void, message: string): void {
  reject(new Error(message))
  socket.destroy()
}

/** Whether the text ends where its response does. */
function isWhole(text: string): boolean {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const length = /\r\ncontent-length: (\d+)\r\n/i.exec(text)
  if (length === null) return text.endsWith('\r\n0\r\n\r\n')
  return text.length >= end + 4 + Number(length[1])
}

const round = (value: number): number => Math.round(value * 1000) / 1000

function pause(seconds: number): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve, seconds * 1000)
  })
}

// Who started us has gone when this closes.
process.stdin.once('end', () => process.exit(0)).resume()
const result = await new LoadClient(JSON.parse(process.argv[2] ?? '{}') as LoadPlan).run()
const told = { event: 'done', at: Date.now(), detail: JSON.stringify(result) }
process.stdout.write(`${JSON.stringify(told)}\n`)

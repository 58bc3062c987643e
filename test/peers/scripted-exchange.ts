import { ManualClock } from '../../src/base/manual-clock.ts'
import type {
  Exchange,
  RegistryAnswer,
  RegistryRequest,
} from '../../src/schema-registry/exchange.ts'

export type Script = (request: RegistryRequest) => RegistryAnswer

/** Answers requests to a schema registry as a test says; time passes only by what the answers take. */
export class ScriptedExchange implements Exchange {
  readonly clock = new ManualClock()
  /** `METHOD server path`, and `pause`, in their order. */
  readonly seen: string[] = []
  readonly pauses: number[] = []
  script: Script
  /** Milliseconds that an answer takes. */
  takesMs = 0

  constructor(script: Script) {
    this.script = script
  }

  requestNow(request: RegistryRequest): RegistryAnswer {
    this.seen.push(`${request.method} ${request.server}${request.path}`)
    this.clock.advance(Math.min(this.takesMs, request.timeoutMs))
    if (this.takesMs > request.timeoutMs) return { failure: 'too late' }
    return this.script(request)
  }

  request(request: RegistryRequest): Promise<RegistryAnswer> {
    return Promise.resolve(this.requestNow(request))
  }

  pauseNow(ms: number): void {
    this.pauses.push(ms)
    this.clock.advance(ms)
  }

  pause(ms: number): Promise<void> {
    this.pauseNow(ms)
    return Promise.resolve()
  }

  close(): Promise<void> {
    return Promise.resolve()
  }
}

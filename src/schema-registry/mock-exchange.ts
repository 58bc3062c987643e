import type { Exchange, RegistryAnswer, RegistryRequest } from './exchange.ts'
import { MockRegistry } from './mock-registry.ts'

/** Requests to a registry in this process. */
export class MockExchange implements Exchange {
  readonly #name: string
  readonly #registry: MockRegistry
  #isClosed = false

  constructor(name: string) {
    this.#name = name
    this.#registry = MockRegistry.take(name)
  }

  requestNow({ method, path, body }: RegistryRequest): RegistryAnswer {
    return this.#registry.answer(method, path, body)
  }

  request(request: RegistryRequest): Promise<RegistryAnswer> {
    return Promise.resolve(this.requestNow(request))
  }

  /** It always answers: there is nothing to wait for. */
  pauseNow(): void {}

  pause(): Promise<void> {
    return Promise.resolve()
  }

  close(): Promise<void> {
    if (!this.#isClosed) MockRegistry.release(this.#name)
    this.#isClosed = true
    return Promise.resolve()
  }
}

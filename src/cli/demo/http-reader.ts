import { Agent, request } from 'undici'

/** Milliseconds that an instance of the demo has for an answer. */
const timeoutMs = 5000

/** What an instance answered. */
export interface HttpAnswer {
  readonly status: number
  readonly text: string
}

/** Asks the instances of the demo as any other program would. */
export class HttpReader implements AsyncDisposable {
  readonly #agent = new Agent({ headersTimeout: timeoutMs, bodyTimeout: timeoutMs })

  /** Undefined: nobody answers there. */
  async get(port: number, path: string): Promise<HttpAnswer | undefined> {
    try {
      const url = `http://127.0.0.1:${port}${path}`
      const { statusCode, body } = await request(url, { dispatcher: this.#agent })
      return { status: statusCode, text: await body.text() }
    } catch {
      return undefined
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#agent.destroy()
  }
}

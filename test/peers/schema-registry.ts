import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'

export interface PeerOptions {
  /** The header that each request must have; others are answered 401. */
  readonly authorization?: string
  /** The id of the first schema. */
  readonly firstId?: number
  /** PEM of the server: it speaks TLS. */
  readonly tls?: { readonly key: string; readonly cert: string }
}

/** What becomes of the next request: no answer, an answer that breaks off, a dropped connection, or another answer. */
export type Fault =
  | 'hang'
  | 'cut'
  | 'drop'
  | {
      readonly status: number
      readonly text: string
      readonly headers?: Readonly<Record<string, string>>
    }

export interface SeenRequest {
  readonly method: string
  readonly path: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/**
 * A schema registry over HTTP, in a process of its own: serdes hold up the thread of the test until it
 * answers.
 */
export class SchemaRegistryPeer implements AsyncDisposable {
  readonly url: string
  readonly #process: ChildProcess

  private constructor(process: ChildProcess, url: string) {
    this.#process = process
    this.url = url
  }

  static async start(options: PeerOptions = {}): Promise<SchemaRegistryPeer> {
    const path = fileURLToPath(new URL('schema-registry-process.ts', import.meta.url))
    const process = fork(path, [JSON.stringify(options)], { execArgv: ['--import', 'tsx'] })
    const [{ port }] = (await once(process, 'message')) as [{ port: number }]
    const scheme = options.tls === undefined ? 'http' : 'https'
    return new SchemaRegistryPeer(process, `${scheme}://localhost:${port}`)
  }

  /** The next requests fail, each in its way. */
  async fail(...faults: Fault[]): Promise<void> {
    await this.#tell({ faults })
  }

  /** The requests since this was asked last. */
  async seen(): Promise<SeenRequest[]> {
    return this.#tell({})
  }

  async register(subject: string, schema: unknown, more: object = {}): Promise<number> {
    const text = typeof schema === 'string' ? schema : JSON.stringify(schema)
    const body = JSON.stringify({ schema: text, ...more })
    const { id } = (await this.#call('POST', `/subjects/${subject}/versions`, body)) as {
      id: number
    }
    return id
  }

  async delete(subject: string, version: number): Promise<void> {
    await this.#call('DELETE', `/subjects/${subject}/versions/${version}`)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.#process, 'exit')
    this.#process.kill('SIGKILL')
    await exited
  }

  async #tell(message: object): Promise<SeenRequest[]> {
    const answer = once(this.#process, 'message')
    this.#process.send(message)
    const [{ seen }] = (await answer) as [{ seen: SeenRequest[] }]
    return seen
  }

  async #call(method: string, path: string, body?: string): Promise<unknown> {
    const response = await fetch(`${this.url}${path}`, { method, ...(body ? { body } : {}) })
    const answer = (await response.json()) as { message?: string }
    if (!response.ok) throw new Error(`${response.status} ${answer.message}`)
    return answer
  }
}

/**
 * The port to a schema registry: one request, one answer. Two forms, because a serde is synchronous and
 * has to wait in its place for a schema that it does not know, while whoever can wait without holding
 * up the thread should.
 */

/** One request to one server. */
export interface RegistryRequest {
  /** Origin and base path of the server, without a slash at its end. */
  readonly server: string
  readonly method: 'GET' | 'POST'
  /** From the base path on, with a slash at its beginning. */
  readonly path: string
  /** JSON, of a POST. */
  readonly body?: string
  /** Milliseconds until the request counts as failed. */
  readonly timeoutMs: number
}

/** What a server said, or why nothing was heard of it. */
export type RegistryAnswer =
  | { readonly status: number; readonly text: string }
  | { readonly failure: string }

/** How requests reach a registry. */
export interface Exchange {
  /** Holds up the thread until there is an answer; never throws for what the network does. */
  requestNow(request: RegistryRequest): RegistryAnswer
  request(request: RegistryRequest): Promise<RegistryAnswer>
  /** Holds up the thread. */
  pauseNow(ms: number): void
  pause(ms: number): Promise<void>
  /** Whoever waits gets a failure. Idempotent. */
  close(): Promise<void>
}

import { Pool, errors as undiciErrors } from 'undici'
import type { Clock } from '../base/clock.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { Endpoint } from '../group/membership.ts'
import { endpointName } from '../query/router.ts'
import { hopDepth, hopHeader, type HopOptions, type HopResponse, type HopSender } from './hop.ts'
import { isLoopback } from './loopback.ts'

/** Connections to one peer at a time; more questions wait for one. */
const connectionsPerPeer = 16

/** Milliseconds until a connection attempt counts as failed: peers are near. */
const connectTimeoutMs = 1000

/** Milliseconds that an unused connection is kept: less than a server keeps it, so that we are first. */
const idleTimeoutMs = 4000

/** Bytes of an answer; a page has a few megabytes at most. */
const responseBytesMax = 64 * 1024 * 1024

/** Peers with open pools; an instance that has not been asked for longest loses its own. */
const peersMax = 256

export interface PeerPoolsOptions {
  readonly clock: Clock
  /** Milliseconds until a question fails with `QUERY_TIMEOUT`. */
  readonly timeoutMs: number
  /** False: only peers on loopback are asked, because nobody proves who they are. */
  readonly allowRemote: boolean
}

/** Kept connections to other instances. */
export class PeerPools implements HopSender, AsyncDisposable {
  readonly #options: PeerPoolsOptions
  /** By origin, the one used last at the end. */
  readonly #pools = new Map<string, Pool>()
  #isClosed = false

  constructor(options: PeerPoolsOptions) {
    this.#options = options
  }

  async send(peer: Endpoint, path: string, options: HopOptions): Promise<HopResponse> {
    const { clock, allowRemote } = this.#options
    const { signal, timeoutMs = this.#options.timeoutMs } = options
    const name = endpointName(peer)
    if (!allowRemote && !isLoopback(peer.host)) {
      const detail = 'it is on another machine, and peers there are asked only with auth stated'
      throw new StreamsError('PEER_UNREACHABLE', { peer: name, detail })
    }
    const deadline = new AbortController()
    const timer = clock.setTimer(timeoutMs, () => deadline.abort())
    const abort = (): void => deadline.abort()
    signal?.addEventListener('abort', abort, { once: true })
    try {
      if (signal?.aborted === true) abort()
      return await this.#attempt(peer, path, deadline.signal)
    } catch (error) {
      if (signal?.aborted === true) {
        throw new StreamsError('ABORTED', { what: `the answer of ${name}` }, { cause: error })
      }
      if (deadline.signal.aborted) {
        throw new StreamsError('QUERY_TIMEOUT', { timeoutMs, peer: name }, { cause: error })
      }
      const detail = messageOf(error)
      throw new StreamsError('PEER_UNREACHABLE', { peer: name, detail }, { cause: error })
    } finally {
      timer.cancel()
      signal?.removeEventListener('abort', abort)
    }
  }

  /** Ends all connections. Idempotent. */
  async close(): Promise<void> {
    this.#isClosed = true
    const pools = [...this.#pools.values()]
    this.#pools.clear()
    await Promise.all(pools.map((pool) => pool.destroy()))
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  async #attempt(peer: Endpoint, path: string, signal: AbortSignal): Promise<HopResponse> {
    try {
      return await this.#request(peer, path, signal)
    } catch (error) {
      // The peer may end an idle connection in the moment in which it is taken for this question.
      // Questions change nothing, so one more try on a fresh connection is safe.
      if (!(error instanceof undiciErrors.SocketError) || signal.aborted) throw error
      return await this.#request(peer, path, signal)
    }
  }

  async #request(peer: Endpoint, path: string, signal: AbortSignal): Promise<HopResponse> {
    const response = await this.#pool(peer).request({
      method: 'GET',
      path,
      signal,
      headers: { [hopHeader]: hopDepth, accept: 'application/json' },
    })
    return { status: response.statusCode, body: await response.body.json() }
  }

  #pool(peer: Endpoint): Pool {
    if (this.#isClosed) throw new StreamsError('CLIENT_CLOSED', { what: 'query service' })
    const origin = `http://${endpointName(peer)}`
    let pool = this.#pools.get(origin)
    this.#pools.delete(origin)
    pool ??= new Pool(origin, {
      connections: connectionsPerPeer,
      connect: { timeout: connectTimeoutMs },
      keepAliveTimeout: idleTimeoutMs,
      keepAliveMaxTimeout: idleTimeoutMs,
      headersTimeout: 0,
      bodyTimeout: 0,
      maxResponseSize: responseBytesMax,
    })
    this.#pools.set(origin, pool)
    this.#dropOldest()
    return pool
  }

  #dropOldest(): void {
    if (this.#pools.size <= peersMax) return
    for (const [origin, pool] of this.#pools) {
      this.#pools.delete(origin)
      // Questions under way end first; nobody waits for that.
      pool.close().catch(() => undefined)
      return
    }
  }
}

import { sleep } from '../base/clock.ts'
import { messageOf, StreamsError } from '../errors.ts'
import { Backoff } from './backoff.ts'
import { addressName, type BrokerAddress } from './broker-address.ts'
import { BrokerConnection, type BrokerConnectionOptions } from './broker-connection.ts'
import { lifeController } from './deadline.ts'

/** What a {@link BrokerPool} needs. */
export interface BrokerPoolOptions extends Omit<
  BrokerConnectionOptions,
  'host' | 'port' | 'signal'
> {
  readonly reconnectBackoffMs: number
  readonly reconnectBackoffMaxMs: number
}

interface Slot {
  connection: BrokerConnection | undefined
  /** The attempt under way, shared by all who ask. */
  opening: Promise<BrokerConnection> | undefined
  readonly address: string
  readonly purpose: string
  /** Aborts when the slot is given up. */
  readonly life: AbortController
}

interface AddressState {
  readonly backoff: Backoff
  /** No attempt before this time of the monotonic clock. */
  retryAt: number
}

/**
 * The connections of a client: one for each broker and purpose, made when first asked for and made
 * again after they end, with a growing wait while the broker cannot be reached.
 */
export class BrokerPool {
  readonly #options: BrokerPoolOptions
  readonly #slots = new Map<string, Slot>()
  readonly #addresses = new Map<string, AddressState>()
  readonly #life = lifeController()

  constructor(options: BrokerPoolOptions) {
    this.#options = options
  }

  /**
   * The connection for this purpose. Rejects with `BROKER_UNREACHABLE` when the attempt fails (asking
   * again waits as long as the broker's backoff says), or `CLIENT_CLOSED`.
   */
  async connection(address: BrokerAddress, purpose: string): Promise<BrokerConnection> {
    if (this.#life.signal.aborted) throw this.#closed()
    const name = addressName(address)
    const key = `${name}/${purpose}`
    let slot = this.#slots.get(key)
    if (slot === undefined) {
      slot = newSlot(name, purpose)
      this.#slots.set(key, slot)
    }
    if (slot.connection !== undefined && !slot.connection.isClosed) return slot.connection
    slot.opening ??= this.#open(address, slot)
    return slot.opening
  }

  /** Milliseconds until an attempt to reach this broker is made; 0 when there was no failure. */
  waitMs(address: BrokerAddress): number {
    const state = this.#addresses.get(addressName(address))
    return state === undefined ? 0 : Math.max(0, state.retryAt - this.#options.clock.monotonic())
  }

  /** Ends the connections of a purpose. */
  async release(purpose: string): Promise<void> {
    await this.#drop((slot) => slot.purpose === purpose, this.#closed())
  }

  /** Ends the connections to brokers that are not among these. */
  retain(addresses: Iterable<BrokerAddress>): void {
    const names = new Set([...addresses].map(addressName))
    for (const name of this.#addresses.keys()) if (!names.has(name)) this.#addresses.delete(name)
    void this.#drop((slot) => !names.has(slot.address))
  }

  /** Ends all connections; those who wait get `CLIENT_CLOSED`. Idempotent. */
  async close(): Promise<void> {
    this.#life.abort()
    await this.#drop(() => true, this.#closed())
  }

  async #open(address: BrokerAddress, slot: Slot): Promise<BrokerConnection> {
    const { clock, log, reconnectBackoffMs, reconnectBackoffMaxMs, random } = this.#options
    const { signal } = slot.life
    const state = this.#addresses.get(slot.address) ?? {
      backoff: new Backoff({ baseMs: reconnectBackoffMs, maxMs: reconnectBackoffMaxMs, random }),
      retryAt: 0,
    }
    this.#addresses.set(slot.address, state)
    try {
      const waitMs = state.retryAt - clock.monotonic()
      if (waitMs > 0) await sleep(clock, waitMs, signal)
      if (signal.aborted) throw this.#givenUp(slot)
      const connection = await BrokerConnection.open({ ...this.#options, ...address, signal })
      state.backoff.reset()
      state.retryAt = 0
      if (signal.aborted) {
        await connection.close(this.#givenUp(slot))
        throw this.#givenUp(slot)
      }
      log.debug('Connected to a broker', { broker: slot.address, purpose: slot.purpose })
      slot.connection = connection
      return connection
    } catch (error) {
      if (signal.aborted) throw this.#givenUp(slot)
      const waitMs = state.backoff.next()
      state.retryAt = clock.monotonic() + waitMs
      log.debug('A broker cannot be reached', {
        broker: slot.address,
        reason: messageOf(error),
        waitMs: Math.round(waitMs),
      })
      if (error instanceof StreamsError) throw error
      throw new StreamsError(
        'BROKER_UNREACHABLE',
        { broker: slot.address, detail: messageOf(error) },
        { cause: error },
      )
    } finally {
      slot.opening = undefined
    }
  }

  async #drop(isDropped: (slot: Slot) => boolean, reason?: StreamsError): Promise<void> {
    const ended: Promise<unknown>[] = []
    for (const [key, slot] of this.#slots) {
      if (!isDropped(slot)) continue
      this.#slots.delete(key)
      slot.life.abort()
      if (slot.connection !== undefined) ended.push(slot.connection.close(reason))
      if (slot.opening !== undefined) ended.push(slot.opening.catch(() => undefined))
    }
    await Promise.all(ended)
  }

  /** For whoever waits for a connection that was given up meanwhile. */
  #givenUp(slot: Slot): StreamsError {
    if (this.#life.signal.aborted) return this.#closed()
    return new StreamsError('CONNECTION_CLOSED', {
      broker: slot.address,
      detail: 'it is no longer in use',
    })
  }

  #closed(): StreamsError {
    return new StreamsError('CLIENT_CLOSED', { what: 'Kafka client' })
  }
}

function newSlot(address: string, purpose: string): Slot {
  const life = lifeController()
  return { connection: undefined, opening: undefined, address, purpose, life }
}

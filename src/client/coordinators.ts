import { errorCode } from '../protocol/error-codes.ts'
import { findCoordinator } from '../protocol/messages/10-find-coordinator.ts'
import type { BrokerAddress } from './broker-address.ts'
import type { Cluster } from './cluster.ts'
import { kafkaFailure } from './kafka-failure.ts'

/** From v4 on FindCoordinator has another form that only helps who looks for many at once. */
const findCoordinatorVersionMax = 3

/** What a broker coordinates, as FindCoordinator numbers it. */
const keyTypes = { group: 0, transaction: 1 } as const

/** A group, or the transactions of a transactional id. */
export type CoordinatedKind = keyof typeof keyTypes

/** First version that can ask for more than groups. */
const keyTypeVersion = 1

/** Which broker coordinates which group or transactional id, as far as it was asked for. */
export class Coordinators {
  readonly #cluster: Cluster
  /** By kind and id. */
  readonly #known = new Map<string, BrokerAddress>()
  /** Searches under way, shared by all who ask. */
  readonly #searches = new Map<string, Promise<BrokerAddress>>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** One search when it is not known; rejects with its failure. */
  async find(kind: CoordinatedKind, id: string): Promise<BrokerAddress> {
    const key = `${kind} ${id}`
    const known = this.#known.get(key)
    if (known !== undefined) return known
    let search = this.#searches.get(key)
    if (search === undefined) {
      search = this.#search(kind, id).finally(() => this.#searches.delete(key))
      this.#searches.set(key, search)
    }
    return search
  }

  /** It is another broker, or may be. */
  forget(kind: CoordinatedKind, id: string): void {
    this.#known.delete(`${kind} ${id}`)
  }

  async #search(kind: CoordinatedKind, id: string): Promise<BrokerAddress> {
    const connection = await this.#cluster.anyConnection('control')
    const {
      errorCode: code,
      errorMessage,
      host,
      port,
    } = await connection.request(
      findCoordinator,
      (version) => ({ key: id, ...(version >= keyTypeVersion && { keyType: keyTypes[kind] }) }),
      { versionMax: findCoordinatorVersionMax },
    )
    if (code !== errorCode.NONE) {
      throw kafkaFailure(findCoordinator.name, code, { subject: id, detail: errorMessage })
    }
    const address = { host, port }
    this.#known.set(`${kind} ${id}`, address)
    return address
  }
}

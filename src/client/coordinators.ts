import { errorCode } from '../protocol/error-codes.ts'
import { findCoordinator } from '../protocol/messages/10-find-coordinator.ts'
import type { BrokerAddress } from './broker-address.ts'
import type { Cluster } from './cluster.ts'
import { kafkaFailure } from './kafka-failure.ts'

/** From v4 on FindCoordinator has another form that only helps who looks for many at once. */
const findCoordinatorVersionMax = 3

/** Which broker coordinates which group, as far as it was asked for. */
export class Coordinators {
  readonly #cluster: Cluster
  readonly #known = new Map<string, BrokerAddress>()
  /** Searches under way, shared by all who ask. */
  readonly #searches = new Map<string, Promise<BrokerAddress>>()

  constructor(cluster: Cluster) {
    this.#cluster = cluster
  }

  /** One search when it is not known; rejects with its failure. */
  async find(groupId: string): Promise<BrokerAddress> {
    const known = this.#known.get(groupId)
    if (known !== undefined) return known
    let search = this.#searches.get(groupId)
    if (search === undefined) {
      search = this.#search(groupId).finally(() => this.#searches.delete(groupId))
      this.#searches.set(groupId, search)
    }
    return search
  }

  /** It is another broker, or may be. */
  forget(groupId: string): void {
    this.#known.delete(groupId)
  }

  async #search(groupId: string): Promise<BrokerAddress> {
    const connection = await this.#cluster.anyConnection('control')
    const {
      errorCode: code,
      errorMessage,
      host,
      port,
    } = await connection.request(
      findCoordinator,
      { key: groupId },
      { versionMax: findCoordinatorVersionMax },
    )
    if (code !== errorCode.NONE) {
      throw kafkaFailure(findCoordinator.name, code, { subject: groupId, detail: errorMessage })
    }
    const address = { host, port }
    this.#known.set(groupId, address)
    return address
  }
}

import { assert } from '../base/assert.ts'
import type { Random } from '../base/random.ts'
import { encodeConsumerSubscription } from '../protocol/consumer-protocol.ts'
import type { Endpoint, TaskProgress, TaskSet } from './membership.ts'
import { encodeSubscription, userDataVersions, type UserDataVersion } from './user-data.ts'

/**
 * Names of our protocols, one for each version of what members tell each other. Ours alone: a Java
 * member that joins by mistake is refused instead of reading garbage.
 */
const names: Readonly<Record<UserDataVersion, string>> = { 1: 'millpond', 2: 'millpond-2' }

/** A protocol as a member offers it in JoinGroup. */
export interface OfferedProtocol {
  readonly name: string
  readonly metadata: Uint8Array
}

/** What a {@link ClassicProtocols} is made of. */
export interface ClassicProtocolsOptions {
  readonly processId: string
  readonly endpoint: Endpoint | undefined
  /** The topics that the application reads, but for those of patterns. */
  readonly topics: readonly string[]
  /** Java: client.tag.* */
  readonly clientTags: Readonly<Record<string, string>>
  /** Asked at each join. */
  readonly progress: () => TaskProgress
  /** Given: this member has joined to have all members stopped. */
  readonly stopReason?: string
  /** The best first. Default: all that this release knows. */
  readonly userDataVersions?: readonly UserDataVersion[]
  readonly random: Random
}

/** What changes between two joins of a member. */
export interface MemberNews {
  readonly held: TaskSet
  /** Topics that match a pattern, as of the last assignment. */
  readonly matchedTopics: readonly string[]
  readonly generation: number
}

/** What a member tells about itself when it joins, in each form that it knows. */
export class ClassicProtocols {
  readonly #options: ClassicProtocolsOptions
  #nonce: number

  constructor(options: ClassicProtocolsOptions) {
    this.#options = options
    this.#nonce = options.random.bytes(4).readUInt32BE(0)
  }

  /** For JoinGroup, the best first. */
  offers({ held, matchedTopics, generation }: MemberNews): OfferedProtocol[] {
    // A follower that says the same as before would get the same answer as before.
    this.#nonce = (this.#nonce + 1) >>> 0
    const { topics, processId, endpoint, clientTags, progress, stopReason } = this.#options
    const { userDataVersions: versions = userDataVersions } = this.#options
    const data = {
      processId,
      nonce: this.#nonce,
      endpoint,
      held,
      progress: progress(),
      tags: new Map(Object.entries(clientTags)),
      ...(stopReason !== undefined && { stopReason }),
    }
    return versions.map((version) => ({
      name: names[version],
      metadata: encodeConsumerSubscription({
        topics: [...topics, ...matchedTopics],
        userData: encodeSubscription(data, version),
        // What a member holds is told as task ids in the user data; nobody else looks at this.
        ownedPartitions: [],
        generationId: generation,
      }),
    }))
  }
}

/** The version of what members tell each other in a group that has agreed on this protocol. */
export function userDataVersionOf(protocolName: string): UserDataVersion {
  const version = userDataVersions.find((one) => names[one] === protocolName)
  assert(version !== undefined, `the group has agreed on a protocol that was offered`)
  return version
}

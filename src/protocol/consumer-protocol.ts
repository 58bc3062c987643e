import { array, bytes, int32, string } from './field.ts'
import { Reader } from './reader.ts'
import { defineMessage, type InputOfMessage, type Message, type OutputOfMessage } from './schema.ts'
import { Writer } from './writer.ts'

/**
 * What group members of the protocol type `consumer` tell each other through the coordinator: the
 * subscription (in JoinGroup) and the assignment (in SyncGroup). An int16 version comes first; a
 * newer version only appends fields, so a reader takes what it knows and leaves the rest.
 */
export const consumerSubscription = defineMessage({
  name: 'ConsumerProtocolSubscription',
  versions: [0, 3],
  fields: {
    topics: array(string()),
    /** Data for the assignor; null for none. */
    userData: bytes({ nullable: 0, default: null }),
    /** What the member has held since the last rebalance (KIP-429). */
    ownedPartitions: array(
      { topic: string(), partitions: array(int32()) },
      { since: 1, ignorable: true },
    ),
    /** The generation in which it got them, -1 for none (KIP-792). */
    generationId: int32({ since: 2, default: -1, ignorable: true }),
    rackId: string({ since: 3, nullable: 3, default: null, ignorable: true }),
  },
})

/** The assignment of one member, as its leader decided it. */
export const consumerAssignment = defineMessage({
  name: 'ConsumerProtocolAssignment',
  versions: [0, 3],
  fields: {
    assignedPartitions: array({ topic: string(), partitions: array(int32()) }),
    /** Data from the assignor; null for none. */
    userData: bytes({ nullable: 0, default: null }),
  },
})

/** A decoded subscription; fields that its version lacks have their default. */
export type ConsumerSubscription = OutputOfMessage<typeof consumerSubscription>

/** A decoded assignment. */
export type ConsumerAssignment = OutputOfMessage<typeof consumerAssignment>

/** The bytes of a subscription, the version first. @param version default the latest, 3 */
export function encodeConsumerSubscription(
  subscription: InputOfMessage<typeof consumerSubscription>,
  version: number = consumerSubscription.versions[1],
): Buffer {
  return encodeVersioned(consumerSubscription, version, subscription)
}

/** Reads a subscription of any version; `userData` is a view. @throws PROTOCOL_MALFORMED */
export function decodeConsumerSubscription(data: Buffer): ConsumerSubscription {
  return decodeVersioned(consumerSubscription, data)
}

/** The bytes of an assignment, the version first. @param version default the latest, 3 */
export function encodeConsumerAssignment(
  assignment: InputOfMessage<typeof consumerAssignment>,
  version: number = consumerAssignment.versions[1],
): Buffer {
  return encodeVersioned(consumerAssignment, version, assignment)
}

/**
 * Reads an assignment of any version; `userData` is a view. No bytes at all, which a coordinator gives
 * to a member that the leader left out, are malformed: test for that first.
 *
 * @throws PROTOCOL_MALFORMED
 */
export function decodeConsumerAssignment(data: Buffer): ConsumerAssignment {
  return decodeVersioned(consumerAssignment, data)
}

function encodeVersioned<In>(message: Message<In, unknown>, version: number, body: In): Buffer {
  const writer = new Writer()
  writer.int16(version)
  message.encode(version, body, writer)
  return writer.finish()
}

function decodeVersioned<Out>(message: Message<unknown, Out>, data: Buffer): Out {
  const reader = new Reader(data, { api: message.name })
  reader.field = 'version'
  const version = reader.int16()
  if (version < 0) reader.fail(`the version ${version} is negative`)
  return message.decode(Math.min(version, message.versions[1]), reader)
}

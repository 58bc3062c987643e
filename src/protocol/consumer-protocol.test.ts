import { describe, expect, test } from 'vitest'
import {
  decodeConsumerAssignment,
  decodeConsumerSubscription,
  encodeConsumerAssignment,
  encodeConsumerSubscription,
} from './consumer-protocol.ts'

/** Made by the message classes of Kafka 4.4, the version added before them as ConsumerProtocol does. */
const subscriptionVectors = [
  '0000000000010002696e000000020102',
  '0001000000010002696e000000020102000000010002696e000000020000000000000001',
  '0002000000010002696e000000020102000000010002696e00000002000000000000000100000005',
  '0003000000010002696e000000020102000000010002696e00000002000000000000000100000005000172',
] as const

const assignmentVector = '000000010002696e0000000200000000000000010000000109'

const subscription = {
  topics: ['in'],
  userData: Buffer.from([1, 2]),
  ownedPartitions: [{ topic: 'in', partitions: [0, 1] }],
  generationId: 5,
  rackId: 'r',
}

const assignment = {
  assignedPartitions: [{ topic: 'in', partitions: [0, 1] }],
  userData: Buffer.from([9]),
}

describe('subscription', () => {
  test.each([0, 1, 2, 3])('version %i is written as Java does', (version) => {
    expect(encodeConsumerSubscription(subscription, version).toString('hex')).toBe(
      subscriptionVectors[version],
    )
  })

  test('each version is read with defaults for what it lacks', () => {
    const decoded = subscriptionVectors.map((hex) =>
      decodeConsumerSubscription(Buffer.from(hex, 'hex')),
    )
    expect(decoded).toEqual([
      { ...subscription, ownedPartitions: [], generationId: -1, rackId: null },
      { ...subscription, generationId: -1, rackId: null },
      { ...subscription, rackId: null },
      subscription,
    ])
  })

  test('the latest version is the default, and optional fields may be left out', () => {
    expect(encodeConsumerSubscription({ topics: ['in'] }).toString('hex')).toBe(
      ['0003', '000000010002696e', 'ffffffff', '00000000', 'ffffffff', 'ffff'].join(''),
    )
  })

  test('a newer version is read as far as it is known', () => {
    const newer = Buffer.from(`0009${subscriptionVectors[3].slice(4)}0badf00d`, 'hex')
    expect(decodeConsumerSubscription(newer)).toEqual(subscription)
  })

  test('no user data is not empty user data', () => {
    const none = encodeConsumerSubscription({ topics: [], userData: null })
    const empty = encodeConsumerSubscription({ topics: [], userData: Buffer.alloc(0) })
    expect(decodeConsumerSubscription(none).userData).toBe(null)
    expect(decodeConsumerSubscription(empty).userData).toEqual(Buffer.alloc(0))
  })
})

describe('assignment', () => {
  test.each([0, 1, 2, 3])('version %i is written as Java does, and read', (version) => {
    const bytes = encodeConsumerAssignment(assignment, version)
    expect(bytes.toString('hex')).toBe(`000${version}${assignmentVector}`)
    expect(decodeConsumerAssignment(bytes)).toEqual(assignment)
  })

  test('a newer version is read as far as it is known', () => {
    expect(decodeConsumerAssignment(Buffer.from(`0004${assignmentVector}ff`, 'hex'))).toEqual(
      assignment,
    )
  })
})

test('a negative version and no bytes at all are malformed', () => {
  const malformed = expect.objectContaining({ code: 'PROTOCOL_MALFORMED' })
  expect(() => decodeConsumerSubscription(Buffer.from('ffff', 'hex'))).toThrow(malformed)
  expect(() => decodeConsumerAssignment(Buffer.alloc(0))).toThrow(malformed)
})

import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { StreamsError, isStreamsError } from '../errors.ts'
import { taskId, type TaskId } from '../processor/record-metadata.ts'
import type { TaskSet } from './membership.ts'
import {
  decodeAssignment,
  decodeSubscription,
  encodeAssignment,
  encodeSubscription,
  type AssignmentData,
  type SubscriptionData,
} from './user-data.ts'

const packed = (...parts: string[]): string => parts.join('').replaceAll(' ', '')

const tasks = (active: TaskId[], standby: TaskId[] = []): TaskSet => ({
  active: new Set(active),
  standby: new Set(standby),
})

const subscription: SubscriptionData = {
  processId: '00112233-4455-6677-8899-aabbccddeeff',
  nonce: 7,
  endpoint: { host: 'h', port: 7070 },
  held: tasks(['1_3', '0_0', '0_1'], ['2_0']),
  stored: ['0_0', '1_300'],
}

// version 1, readable by 1, not deflated · process id · nonce · "h":7070
// · active {0: 0,+1; +1: 3} · standby {2: 0} · stored {0: 0; +1: 300}
const subscriptionHex = packed(
  '010100 00112233445566778899aabbccddeeff 00000007 02681b9e',
  '02 00020001 010103 01 020100 02 000100 0101ac02',
)

test('a subscription has these bytes', () => {
  expect(encodeSubscription(subscription).toString('hex')).toBe(subscriptionHex)
  expect(decodeSubscription(Buffer.from(subscriptionHex, 'hex'))).toEqual(subscription)
})

test('a subscription without an endpoint and without tasks is 27 bytes', () => {
  const least = { ...subscription, endpoint: undefined, held: tasks([]), stored: [] }
  const bytes = encodeSubscription(least)
  expect(bytes.toString('hex')).toBe(
    packed('010100 00112233445566778899aabbccddeeff 00000007 01 000000'),
  )
  expect(decodeSubscription(bytes)).toEqual(least)
})

test('a subscription that has all stopped tells why, behind what others read', () => {
  const asking = { ...subscription, stopReason: 'bad' }
  const bytes = encodeSubscription(asking)
  expect(bytes.toString('hex')).toBe(`${subscriptionHex}04626164`)
  expect(decodeSubscription(bytes)).toEqual(asking)
})

const assignment: AssignmentData = {
  error: undefined,
  tasks: tasks(['0_1']),
  hosts: new Map([
    ['a:1', { endpoint: { host: 'a', port: 1 }, tasks: tasks(['0_0']) }],
    ['b:2', { endpoint: { host: 'b', port: 2 }, tasks: tasks(['0_1'], ['0_0']) }],
  ]),
  matchedTopics: [],
}

// no error · active {0: 1} · standby {} · two hosts: "a":1 {0: 0} {} · "b":2 {0: 1} {0: 0}
const assignmentHex = packed(
  '010100 01 01000101 00 02',
  '02610001 01000100 00',
  '02620002 01000101 01000100',
)

test('an assignment has these bytes', () => {
  expect(encodeAssignment(assignment).toString('hex')).toBe(assignmentHex)
  expect(decodeAssignment(Buffer.from(assignmentHex, 'hex'))).toEqual(assignment)
})

test('the topics that match a pattern follow, where there are some', () => {
  const matched = { ...assignment, matchedTopics: ['a', 'bc'] }
  expect(encodeAssignment(matched).toString('hex')).toBe(
    `${assignmentHex}${packed('02 0261 036263')}`,
  )
  expect(decodeAssignment(encodeAssignment(matched))).toEqual(matched)
})

test('a failure of the leader reaches the member as the same error', () => {
  const error = new StreamsError('SOURCE_TOPIC_MISSING', { topic: 'orders' })
  const { error: received } = decodeAssignment(
    encodeAssignment({ error, tasks: tasks([]), hosts: new Map(), matchedTopics: [] }),
  )
  expect(received?.code).toBe('SOURCE_TOPIC_MISSING')
  expect(received?.message).toBe(
    'The source topic orders does not exist. Create it, then start again.',
  )
})

test('a failure that only a newer leader knows still has a code and its facts', () => {
  const bytes = Buffer.concat([
    Buffer.from('010100', 'hex'),
    Buffer.from('\x07MOON_X\x08{"a":1}', 'latin1'),
    Buffer.from('000000', 'hex'),
  ])
  const { error } = decodeAssignment(bytes)
  expect(error?.code).toBe('ASSIGNMENT_FAILED')
  expect(error?.message).toContain('MOON_X {"a":1}')
})

test('a large assignment is deflated: 100 hosts with 10 tasks each take less than 2 kB', () => {
  const hosts = new Map<string, { endpoint: { host: string; port: number }; tasks: TaskSet }>()
  for (let host = 0; host < 100; host++) {
    const endpoint = { host: `instance-${host}.example.com`, port: 7070 }
    const own = Array.from({ length: 10 }, (_, index) => taskId(0, host + index * 100))
    hosts.set(`${endpoint.host}:7070`, { endpoint, tasks: tasks(own) })
  }
  const data = { error: undefined, tasks: tasks(['0_0']), hosts, matchedTopics: [] }
  const bytes = encodeAssignment(data)
  expect(bytes.length).toBeLessThan(2000)
  expect(decodeAssignment(bytes)).toEqual(data)
})

test('bytes that only a newer release can read are refused with what to do', () => {
  const bytes = Buffer.from(subscriptionHex, 'hex')
  bytes.writeUInt8(2, 0)
  expect(decodeSubscription(bytes).nonce).toBe(7)
  bytes.writeUInt8(2, 1)
  expect(() => decodeSubscription(bytes)).toThrow(
    /Version 2 of .* is not supported.*compatible releases/,
  )
})

test('a body that inflates to more than the bound is refused', () => {
  const bytes = Buffer.concat([Buffer.from('010101', 'hex'), Buffer.from('not deflate')])
  expect(() => decodeAssignment(bytes)).toThrow(/deflated body cannot be read/)
})

function outcome(decode: () => unknown): string {
  try {
    decode()
    return 'an answer'
  } catch (error) {
    const codes = ['PROTOCOL_MALFORMED', 'PROTOCOL_UNSUPPORTED_VERSION'] as const
    return codes.find((code) => isStreamsError(error, code)) ?? 'another error'
  }
}

test('cut or flipped bytes are an answer or PROTOCOL_MALFORMED, never another error', () => {
  for (const hex of [subscriptionHex, assignmentHex]) {
    const decode = hex === subscriptionHex ? decodeSubscription : decodeAssignment
    const whole = Buffer.from(hex, 'hex')
    for (let length = 0; length < whole.length; length++) {
      const cut = whole.subarray(0, length)
      expect(() => decode(cut)).toThrow(StreamsError)
    }
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), (index, value) => {
        const bytes = Buffer.from(whole)
        bytes.writeUInt8(value, index)
        expect(outcome(() => decode(bytes))).not.toBe('another error')
      }),
    )
  }
})

test('every set of tasks survives the way', () => {
  const ids = fc.uniqueArray(
    fc
      .tuple(fc.nat(50), fc.nat(5000))
      .map(([subtopology, partition]) => taskId(subtopology, partition)),
  )
  fc.assert(
    fc.property(ids, ids, (active, standby) => {
      const data = { ...subscription, held: tasks(active, standby) }
      expect(decodeSubscription(encodeSubscription(data)).held).toEqual(data.held)
    }),
  )
})

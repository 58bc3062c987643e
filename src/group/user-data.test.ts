import * as fc from 'fast-check'
import { expect, test } from 'vitest'
import { StreamsError, isStreamsError } from '../errors.ts'
import { taskId, type TaskId } from '../processor/record-metadata.ts'
import { progressRunning, type TaskSet } from './membership.ts'
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
  progress: new Map([
    ['0_0', progressRunning],
    ['1_300', 5],
    ['2_0', 2 ** 40 + 6],
  ]),
  tags: new Map([['zone', 'b']]),
}

// version 2, readable by 2, not deflated · process id · nonce · "h":7070
// · active {0: 0,+1; +1: 3} · standby {2: 0}
// · progress {0: 0 runs; +1: 300 at 5; +1: 0 at 7 - 1 + 1024 × 2^30} · "zone" "b" · no reason
const subscriptionHex = packed(
  '020200 00112233445566778899aabbccddeeff 00000007 02681b9e',
  '02 00020001 010103 01 020100',
  '03 00010000 0101ac020c 010100 0f8008 01 057a6f6e65 0262 00',
)

// The same in version 1: · stored {0: 0; +1: 300; +1: 0}
const subscriptionHex1 = packed(
  '010100 00112233445566778899aabbccddeeff 00000007 02681b9e',
  '02 00020001 010103 01 020100 03 000100 0101ac02 010100',
)

test('a subscription has these bytes', () => {
  expect(encodeSubscription(subscription).toString('hex')).toBe(subscriptionHex)
  expect(decodeSubscription(Buffer.from(subscriptionHex, 'hex'))).toEqual(subscription)
})

test('in version 1 a subscription only tells of which tasks there is state', () => {
  expect(encodeSubscription(subscription, 1).toString('hex')).toBe(subscriptionHex1)
  expect(decodeSubscription(Buffer.from(subscriptionHex1, 'hex'))).toEqual({
    ...subscription,
    progress: new Map([
      ['0_0', 0],
      ['1_300', 0],
      ['2_0', 0],
    ]),
    tags: new Map(),
  })
})

test('a subscription without an endpoint and without tasks is 29 bytes', () => {
  const progress = new Map<TaskId, number>()
  const nothing = { held: tasks([]), progress, tags: new Map<string, string>() }
  const least = { ...subscription, endpoint: undefined, ...nothing }
  const bytes = encodeSubscription(least)
  expect(bytes.toString('hex')).toBe(
    packed('020200 00112233445566778899aabbccddeeff 00000007 01 000000 00 00'),
  )
  expect(decodeSubscription(bytes)).toEqual(least)
})

test('a subscription that has all stopped tells why', () => {
  const asking = { ...subscription, stopReason: 'bad' }
  const bytes = encodeSubscription(asking)
  expect(bytes.toString('hex')).toBe(`${subscriptionHex.slice(0, -2)}04626164`)
  expect(decodeSubscription(bytes)).toEqual(asking)
  const old = encodeSubscription(asking, 1)
  expect(old.toString('hex')).toBe(`${subscriptionHex1}04626164`)
  expect(decodeSubscription(old).stopReason).toBe('bad')
})

const assignment: AssignmentData = {
  error: undefined,
  tasks: tasks(['0_1']),
  hosts: new Map([
    ['a:1', { endpoint: { host: 'a', port: 1 }, tasks: tasks(['0_0']) }],
    ['b:2', { endpoint: { host: 'b', port: 2 }, tasks: tasks(['0_1'], ['0_0']) }],
  ]),
  matchedTopics: ['a', 'bc'],
  rejoinInMs: 0,
  topicsFingerprint: 0xcafe_f00d,
}

// no error · active {0: 1} · standby {} · two hosts: "a":1 {0: 0} {} · "b":2 {0: 1} {0: 0}
const assignmentBody = packed(
  '01 01000101 00 02',
  '02610001 01000100 00',
  '02620002 01000101 01000100',
)
// two topics · join again after 0 ms · fingerprint
const assignmentHex = `020200${assignmentBody}${packed('02 0261 036263 01 cafef00d')}`

test('an assignment has these bytes', () => {
  expect(encodeAssignment(assignment).toString('hex')).toBe(assignmentHex)
  expect(decodeAssignment(Buffer.from(assignmentHex, 'hex'))).toEqual(assignment)
})

test('the time until the next round is told in milliseconds, and none as none', () => {
  for (const rejoinInMs of [undefined, 1, 600_000, 2 ** 31 - 1]) {
    const bytes = encodeAssignment({ ...assignment, rejoinInMs })
    expect(decodeAssignment(bytes).rejoinInMs).toBe(rejoinInMs)
  }
})

test('in version 1 an assignment ends with the topics of patterns, where there are some', () => {
  const untold = { rejoinInMs: undefined, topicsFingerprint: 0 }
  const without = { ...assignment, matchedTopics: [], ...untold }
  expect(encodeAssignment(without, 1).toString('hex')).toBe(`010100${assignmentBody}`)
  expect(decodeAssignment(encodeAssignment(without, 1))).toEqual(without)
  const matched = packed('02 0261 036263')
  expect(encodeAssignment(assignment, 1).toString('hex')).toBe(`010100${assignmentBody}${matched}`)
  expect(decodeAssignment(encodeAssignment(assignment, 1))).toEqual({ ...assignment, ...untold })
})

test('a failure of the leader reaches the member as the same error', () => {
  const error = new StreamsError('SOURCE_TOPIC_MISSING', { topic: 'orders' })
  const { error: received } = decodeAssignment(
    encodeAssignment({ ...assignment, error, tasks: tasks([]), hosts: new Map() }),
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
  const data = { ...assignment, tasks: tasks(['0_0']), hosts }
  const bytes = encodeAssignment(data)
  expect(bytes.length).toBeLessThan(2000)
  expect(decodeAssignment(bytes)).toEqual(data)
})

test('what 100 members with 1,000 tasks tell each other is far less than the 1 MB of a record', () => {
  const all = Array.from({ length: 1000 }, (_, index) => taskId(index % 7, Math.floor(index / 7)))
  const ownOf = (index: number): TaskSet =>
    tasks(
      all.filter((_, task) => (task * 31) % 100 === index),
      all.filter((_, task) => (task * 17 + 5) % 100 === index),
    )
  const hosts = new Map<string, { endpoint: { host: string; port: number }; tasks: TaskSet }>()
  let bytes = 0
  for (let index = 0; index < 100; index += 1) {
    const held = ownOf(index)
    const endpoint = { host: `instance-${index}.example.com`, port: 7070 }
    hosts.set(`${endpoint.host}:7070`, { endpoint, tasks: held })
    // It has state of ten times as many on its disk, each with a sum of its own.
    const stored = all.filter((_, task) => (task * 13) % 100 < index % 10)
    const progress = new Map<TaskId, number>([
      ...[...held.standby, ...stored].map((id, at) => [id, 123_456_789 * at] as const),
      ...[...held.active].map((id) => [id, progressRunning] as const),
    ])
    bytes += encodeSubscription({ ...subscription, endpoint, held, progress }).length
  }
  for (let index = 0; index < 100; index += 1)
    bytes += encodeAssignment({ ...assignment, tasks: ownOf(index), hosts }).length
  expect(bytes).toBeLessThan(600_000)
})

test('bytes that only a newer release can read are refused with what to do', () => {
  const bytes = Buffer.from(subscriptionHex, 'hex')
  bytes.writeUInt8(3, 0)
  expect(decodeSubscription(bytes).nonce).toBe(7)
  bytes.writeUInt8(3, 1)
  expect(() => decodeSubscription(bytes)).toThrow(
    /Version 3 of .* is not supported.*compatible releases/,
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
  const assignmentHex1 = encodeAssignment({ ...assignment, matchedTopics: [] }, 1).toString('hex')
  for (const [hex, decode] of [
    [subscriptionHex, decodeSubscription],
    [subscriptionHex1, decodeSubscription],
    [assignmentHex, decodeAssignment],
    [assignmentHex1, decodeAssignment],
  ] as const) {
    const whole = Buffer.from(hex, 'hex')
    for (let length = 0; length < whole.length; length++) {
      const cut = whole.subarray(0, length)
      expect(() => decode(cut)).toThrow(StreamsError)
    }
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (body) => {
        const head = Buffer.from(hex, 'hex').subarray(0, 3)
        expect(outcome(() => decode(Buffer.concat([head, body])))).not.toBe('another error')
      }),
    )
    fc.assert(
      fc.property(fc.nat(whole.length - 1), fc.nat(255), (index, value) => {
        const bytes = Buffer.from(whole)
        bytes.writeUInt8(value, index)
        expect(outcome(() => decode(bytes))).not.toBe('another error')
      }),
    )
  }
})

test('every progress survives the way', () => {
  const sum = fc.oneof(
    fc.constant(progressRunning),
    fc.nat(),
    fc.bigInt({ min: 0n, max: 2n ** 52n }).map(Number),
  )
  const entry = fc.tuple(fc.nat(5), fc.nat(3000), sum)
  fc.assert(
    fc.property(fc.array(entry), (entries) => {
      const progress = new Map(entries.map(([one, other, at]) => [taskId(one, other), at]))
      const read = decodeSubscription(encodeSubscription({ ...subscription, progress })).progress
      expect(read).toEqual(progress)
    }),
  )
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

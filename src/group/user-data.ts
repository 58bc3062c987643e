import { deflateRawSync, inflateRawSync } from 'node:zlib'
import {
  StreamsError,
  errorCodes,
  messageOf,
  type ErrorCode,
  type ErrorContext,
} from '../errors.ts'
import { Reader } from '../protocol/reader.ts'
import { Writer } from '../protocol/writer.ts'
import type { Endpoint, HostMap, TaskProgress, TaskSet } from './membership.ts'
import { boundedCount, readTaskIds, writeTaskIds } from './task-ids.ts'
import { readProgress, writeProgress } from './task-progress.ts'

/**
 * What members and leader tell each other inside JoinGroup and SyncGroup: our own bytes, because a
 * group never mixes Java and Millpond (another protocol name keeps them apart).
 *
 *     version u8 · oldest version that can read it u8 · flags u8 (1: deflated) · body
 *
 * They are small on purpose. The broker keeps all of them in one record, and the host map is in the
 * assignment of every member: hence task ids instead of topic names, and deflate.
 *
 * Version 2 has what standbys and warm-ups need: how far the tasks are, tags, and when to join again.
 * A member offers its data in each version that it knows, as a protocol of its own, and the broker
 * takes the best that all members know: so releases can be mixed while an application is upgraded,
 * and nobody ever gets bytes that it cannot read. That is what Java's version probing is for.
 */
export type UserDataVersion = 1 | 2

/** All that this release knows, the best first. */
export const userDataVersions: readonly UserDataVersion[] = [2, 1]

const formatVersion = 2
const flagDeflated = 1

/** Smaller bodies do not gain from deflate. */
const deflateBytesMin = 1024

/** A body that claims to be larger after inflating is not ours. */
const bodyBytesMax = 64 * 1024 * 1024

/** What a member tells when it joins. */
export interface SubscriptionData {
  /** Identity of the process, a UUID: several members may share it. */
  readonly processId: string
  /** Differs at each join, so that a follower's rejoin is a change to the broker. */
  readonly nonce: number
  readonly endpoint: Endpoint | undefined
  /** The tasks that it runs. */
  readonly held: TaskSet
  /** How far the state in its process is. In version 1 it only says of which tasks there is some. */
  readonly progress: TaskProgress
  /** Where it is, to whoever spreads copies: Java's client tags. Not told in version 1. */
  readonly tags: ReadonlyMap<string, string>
  /** Given: all members are to stop, and this is why. */
  readonly stopReason?: string
}

/** What the leader tells to one member. */
export interface AssignmentData {
  /** Given: nobody has an assignment, and this is why. */
  readonly error: StreamsError | undefined
  readonly tasks: TaskSet
  readonly hosts: HostMap
  /** Topics that the patterns of the topology match, as the leader saw the cluster. */
  readonly matchedTopics: readonly string[]
  /**
   * Given: the member joins again so many milliseconds after it has applied this, whatever happens.
   * Not told in version 1.
   */
  readonly rejoinInMs: number | undefined
  /** What the leader knew of the topics, as a number: another one means others. 0 in version 1. */
  readonly topicsFingerprint: number
}

const subscriptionName = "a member's subscription"
const assignmentName = "the leader's assignment"

/** The user data of a subscription. */
export function encodeSubscription(
  data: SubscriptionData,
  version: UserDataVersion = formatVersion,
): Buffer {
  const body = new Writer()
  body.raw(Buffer.from(data.processId.replaceAll('-', ''), 'hex'))
  body.uint32(data.nonce)
  writeEndpoint(body, data.endpoint)
  writeTaskSet(body, data.held)
  if (version === 1) {
    writeTaskIds(body, data.progress.keys())
    if (data.stopReason !== undefined) body.compactString(data.stopReason)
    return seal(body.finish(), version)
  }
  writeProgress(body, data.progress)
  body.uvarint(data.tags.size)
  for (const [key, value] of data.tags) {
    body.compactString(key)
    body.compactString(value)
  }
  body.compactNullableString(data.stopReason ?? null)
  return seal(body.finish(), version)
}

/** Throws `PROTOCOL_MALFORMED`, or `PROTOCOL_UNSUPPORTED_VERSION` for bytes of a newer Millpond. */
export function decodeSubscription(bytes: Buffer): SubscriptionData {
  const { body, version } = open(bytes, subscriptionName)
  body.field = 'processId'
  const hex = body.view(16).toString('hex')
  const processId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  body.field = 'nonce'
  const nonce = body.uint32()
  body.field = 'endpoint'
  const endpoint = readEndpoint(body)
  body.field = 'held'
  const held = readTaskSet(body)
  body.field = 'progress'
  const progress =
    version === 1 ? new Map(readTaskIds(body).map((id) => [id, 0] as const)) : readProgress(body)
  body.field = 'tags'
  const tags = version === 1 ? new Map<string, string>() : readTags(body)
  body.field = 'stopReason'
  const reason = version === 1 ? readStopReason(body) : body.compactNullableString()
  const stopReason = reason === null ? {} : { stopReason: reason }
  return { processId, nonce, endpoint, held, progress, tags, ...stopReason }
}

/** A host map as it is in the assignments of all members: whoever writes many of them makes it once. */
export function encodeHosts(hosts: HostMap): Buffer {
  const body = new Writer()
  body.uvarint(hosts.size)
  for (const { endpoint, tasks } of hosts.values()) {
    writeEndpoint(body, endpoint)
    writeTaskSet(body, tasks)
  }
  return body.finish()
}

/** The user data of an assignment; `hosts` is what {@link encodeHosts} makes of its map. */
export function encodeAssignment(
  data: AssignmentData,
  version: UserDataVersion = formatVersion,
  hosts: Buffer = encodeHosts(data.hosts),
): Buffer {
  const body = new Writer()
  body.compactString(data.error?.code ?? '')
  if (data.error !== undefined) body.compactString(JSON.stringify(data.error.context))
  writeTaskSet(body, data.tasks)
  body.raw(hosts)
  // In version 1 the bytes end here when there are no patterns.
  if (version > 1 || data.matchedTopics.length > 0) body.uvarint(data.matchedTopics.length)
  for (const topic of data.matchedTopics) body.compactString(topic)
  if (version > 1) {
    body.uvarint(data.rejoinInMs === undefined ? 0 : data.rejoinInMs + 1)
    body.uint32(data.topicsFingerprint)
  }
  return seal(body.finish(), version)
}

/** Throws `PROTOCOL_MALFORMED`, or `PROTOCOL_UNSUPPORTED_VERSION` for bytes of a newer Millpond. */
export function decodeAssignment(bytes: Buffer): AssignmentData {
  const { body, version } = open(bytes, assignmentName)
  body.field = 'error'
  const code = body.compactString()
  const error = code === '' ? undefined : readError(body, code)
  body.field = 'tasks'
  const tasks = readTaskSet(body)
  body.field = 'hosts'
  const hosts = new Map<string, { endpoint: Endpoint; tasks: TaskSet }>()
  const hostCount = boundedCount(body)
  for (let index = 0; index < hostCount; index += 1) {
    const endpoint = readEndpoint(body) ?? body.fail('a host without an endpoint')
    hosts.set(hostKey(endpoint), { endpoint, tasks: readTaskSet(body) })
  }
  const matchedTopics = readMatchedTopics(body, version)
  const told = { error, tasks, hosts, matchedTopics }
  if (version === 1) return { ...told, rejoinInMs: undefined, topicsFingerprint: 0 }
  body.field = 'rejoinInMs'
  const rejoin = body.uvarint()
  body.field = 'topicsFingerprint'
  const topicsFingerprint = body.uint32()
  return { ...told, rejoinInMs: rejoin === 0 ? undefined : rejoin - 1, topicsFingerprint }
}

/** In version 1 the bytes end before it when there is none. */
function readStopReason(body: Reader): string | null {
  return body.remaining === 0 ? null : body.compactString()
}

function readTags(body: Reader): Map<string, string> {
  const count = boundedCount(body)
  return new Map(
    Array.from({ length: count }, () => [body.compactString(), body.compactString()] as const),
  )
}

/** In version 1 the bytes end before them when there are none. */
function readMatchedTopics(body: Reader, version: UserDataVersion): string[] {
  if (version === 1 && body.remaining === 0) return []
  body.field = 'matchedTopics'
  return Array.from({ length: boundedCount(body) }, () => body.compactString())
}

/** The key of a host in a {@link HostMap}. */
export function hostKey(endpoint: Endpoint): string {
  return `${endpoint.host}:${endpoint.port}`
}

function writeEndpoint(writer: Writer, endpoint: Endpoint | undefined): void {
  writer.compactString(endpoint?.host ?? '')
  if (endpoint !== undefined) writer.uint16(endpoint.port)
}

function readEndpoint(reader: Reader): Endpoint | undefined {
  const host = reader.compactString()
  return host === '' ? undefined : { host, port: reader.uint16() }
}

function writeTaskSet(writer: Writer, tasks: TaskSet): void {
  writeTaskIds(writer, tasks.active)
  writeTaskIds(writer, tasks.standby)
}

function readTaskSet(reader: Reader): TaskSet {
  return { active: new Set(readTaskIds(reader)), standby: new Set(readTaskIds(reader)) }
}

function readError(reader: Reader, code: string): StreamsError {
  let context: unknown
  try {
    context = JSON.parse(reader.compactString())
  } catch (error) {
    if (error instanceof StreamsError) throw error
    return reader.fail(messageOf(error))
  }
  if (typeof context !== 'object' || context === null) return reader.fail('not an object')
  // The leader may be newer and know a failure that this version has no row for.
  if ((errorCodes as readonly string[]).includes(code))
    return new StreamsError(code as ErrorCode, context as ErrorContext)
  return new StreamsError('ASSIGNMENT_FAILED', { detail: `${code} ${JSON.stringify(context)}` })
}

function seal(body: Buffer, version: UserDataVersion): Buffer {
  const isLarge = body.length >= deflateBytesMin
  const head = Buffer.from([version, version, isLarge ? flagDeflated : 0])
  return Buffer.concat([head, isLarge ? deflateRawSync(body) : body])
}

function open(bytes: Buffer, api: string): { body: Reader; version: UserDataVersion } {
  const head = new Reader(bytes, { api })
  head.field = 'version'
  const number = head.int8()
  const oldestReader = head.int8()
  if (oldestReader > formatVersion) {
    throw new StreamsError('PROTOCOL_UNSUPPORTED_VERSION', {
      api,
      version: number,
      detail: `this instance reads versions up to ${formatVersion}; all instances of an application must run compatible releases of Millpond`,
    })
  }
  // What we can read of a newer one is in the form of the oldest that can; there may be more behind.
  const version = oldestReader <= 1 ? 1 : formatVersion
  head.field = 'flags'
  if ((head.int8() & flagDeflated) === 0)
    return { body: new Reader(bytes, { api, start: head.position }), version }
  const deflated = bytes.subarray(head.position)
  try {
    const inflated = inflateRawSync(deflated, { maxOutputLength: bodyBytesMax })
    return { body: new Reader(inflated, { api }), version }
  } catch (error) {
    return head.fail(`the deflated body cannot be read (${messageOf(error)})`)
  }
}

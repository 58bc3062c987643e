import { deflateRawSync, inflateRawSync } from 'node:zlib'
import {
  StreamsError,
  errorCodes,
  messageOf,
  type ErrorCode,
  type ErrorContext,
} from '../errors.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { Reader } from '../protocol/reader.ts'
import { Writer } from '../protocol/writer.ts'
import type { Endpoint, HostMap, TaskSet } from './membership.ts'
import { boundedCount, readTaskIds, writeTaskIds } from './task-ids.ts'

/**
 * What members and leader tell each other inside JoinGroup and SyncGroup: our own bytes, because a
 * group never mixes Java and Millpond (another protocol name keeps them apart).
 *
 *     version u8 · oldest version that can read it u8 · flags u8 (1: deflated) · body
 *
 * They are small on purpose. The broker keeps all of them in one record, and the host map is in the
 * assignment of every member: hence task ids instead of topic names, and deflate.
 */
const formatVersion = 1
const oldestReader = 1
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
  /** Tasks of which it has state on disk, whether it runs them or not. */
  readonly stored: readonly TaskId[]
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
}

const subscriptionName = "a member's subscription"
const assignmentName = "the leader's assignment"

/** The user data of a subscription. */
export function encodeSubscription(data: SubscriptionData): Buffer {
  const body = new Writer()
  body.raw(Buffer.from(data.processId.replaceAll('-', ''), 'hex'))
  body.uint32(data.nonce)
  writeEndpoint(body, data.endpoint)
  writeTaskSet(body, data.held)
  writeTaskIds(body, data.stored)
  if (data.stopReason !== undefined) body.compactString(data.stopReason)
  return seal(body.finish())
}

/** Throws `PROTOCOL_MALFORMED`, or `PROTOCOL_UNSUPPORTED_VERSION` for bytes of a newer Millpond. */
export function decodeSubscription(bytes: Buffer): SubscriptionData {
  const body = open(bytes, subscriptionName)
  body.field = 'processId'
  const hex = body.view(16).toString('hex')
  const processId = hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-')
  body.field = 'nonce'
  const nonce = body.uint32()
  body.field = 'endpoint'
  const endpoint = readEndpoint(body)
  body.field = 'held'
  const held = readTaskSet(body)
  body.field = 'stored'
  const stored = readTaskIds(body)
  body.field = 'stopReason'
  const stopReason = body.remaining === 0 ? {} : { stopReason: body.compactString() }
  return { processId, nonce, endpoint, held, stored, ...stopReason }
}

/** The user data of an assignment. */
export function encodeAssignment(data: AssignmentData): Buffer {
  const body = new Writer()
  body.compactString(data.error?.code ?? '')
  if (data.error !== undefined) body.compactString(JSON.stringify(data.error.context))
  writeTaskSet(body, data.tasks)
  body.uvarint(data.hosts.size)
  for (const { endpoint, tasks } of data.hosts.values()) {
    writeEndpoint(body, endpoint)
    writeTaskSet(body, tasks)
  }
  // Without patterns the bytes end here.
  if (data.matchedTopics.length > 0) body.uvarint(data.matchedTopics.length)
  for (const topic of data.matchedTopics) body.compactString(topic)
  return seal(body.finish())
}

/** Throws `PROTOCOL_MALFORMED`, or `PROTOCOL_UNSUPPORTED_VERSION` for bytes of a newer Millpond. */
export function decodeAssignment(bytes: Buffer): AssignmentData {
  const body = open(bytes, assignmentName)
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
  return { error, tasks, hosts, matchedTopics: readMatchedTopics(body) }
}

/** Where there are none, the bytes end before them. */
function readMatchedTopics(body: Reader): string[] {
  if (body.remaining === 0) return []
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

function seal(body: Buffer): Buffer {
  const isLarge = body.length >= deflateBytesMin
  const head = Buffer.from([formatVersion, oldestReader, isLarge ? flagDeflated : 0])
  return Buffer.concat([head, isLarge ? deflateRawSync(body) : body])
}

function open(bytes: Buffer, api: string): Reader {
  const head = new Reader(bytes, { api })
  head.field = 'version'
  const version = head.int8()
  if (head.int8() > formatVersion) {
    throw new StreamsError('PROTOCOL_UNSUPPORTED_VERSION', {
      api,
      version,
      detail: `this instance reads versions up to ${formatVersion}; all instances of an application must run compatible releases of Millpond`,
    })
  }
  head.field = 'flags'
  if ((head.int8() & flagDeflated) === 0) return new Reader(bytes, { api, start: head.position })
  try {
    return new Reader(
      inflateRawSync(bytes.subarray(head.position), { maxOutputLength: bodyBytesMax }),
      { api },
    )
  } catch (error) {
    return head.fail(`the deflated body cannot be read (${messageOf(error)})`)
  }
}

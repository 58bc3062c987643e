import { expect, test } from 'vitest'
import {
  array,
  boolean,
  bytes,
  float64,
  int16,
  int32,
  int64,
  int8,
  string,
  struct,
  uint16,
  uuid,
} from './field.ts'
import { Reader, zeroUuid } from './reader.ts'
import { defineMessage, type InputOfMessage } from './schema.ts'
import { Writer } from './writer.ts'

/** StreamsGroupHeartbeat (KIP-1071): it has structs that may be null, and an unsigned port. */
const taskIds = { subtopologyId: string(), partitions: array(int32()) }
const taskOffset = { subtopologyId: string(), partition: int32(), offset: int64() }
const keyValue = { key: string(), value: string() }
const topicInfo = {
  name: string(),
  partitions: int32(),
  replicationFactor: int16(),
  topicConfigs: array(keyValue),
}
const streamsGroupHeartbeat = defineMessage({
  name: 'StreamsGroupHeartbeat request',
  versions: [0, 1],
  flexible: 0,
  fields: {
    groupId: string(),
    memberId: string(),
    memberEpoch: int32(),
    endpointInformationEpoch: int32(),
    instanceId: string({ nullable: 0, default: null }),
    rackId: string({ nullable: 0, default: null }),
    rebalanceTimeoutMs: int32({ default: -1 }),
    topology: struct(
      {
        epoch: int32(),
        subtopologies: array({
          subtopologyId: string(),
          sourceTopics: array(string()),
          sourceTopicRegex: array(string()),
          stateChangelogTopics: array(topicInfo),
          repartitionSinkTopics: array(string()),
          repartitionSourceTopics: array(topicInfo),
          copartitionGroups: array({
            sourceTopics: array(int16()),
            sourceTopicRegex: array(int16()),
            repartitionSourceTopics: array(int16()),
          }),
        }),
      },
      { nullable: 0, default: null },
    ),
    activeTasks: array(taskIds, { nullable: 0, default: null }),
    standbyTasks: array(taskIds, { nullable: 0, default: null }),
    warmupTasks: array(taskIds, { nullable: 0, default: null }),
    processId: string({ nullable: 0, default: null }),
    userEndpoint: struct({ host: string(), port: uint16() }, { nullable: 0, default: null }),
    clientTags: array(keyValue, { nullable: 0, default: null }),
    taskOffsets: array(taskOffset, { nullable: 0, default: null }),
    taskEndOffsets: array(taskOffset, { nullable: 0, default: null }),
    shutdownApplication: boolean({ default: false }),
  },
})

/** Made by the message classes of Kafka 4.4. */
const vectors = {
  join: '04617070046d2d3100000000ffffffff0000000493e001000000000302300203696e010102126170702d722d7265706172746974696f6e0101000231020374320102146170702d73746f72652d6368616e67656c6f67000000000001020f636c65616e75702e706f6c69637908636f6d7061637400000102126170702d722d7265706172746974696f6e0000000000000100020200000102000000000001010104702d31010268ffff000100000000',
  keepAlive: '04617070046d2d3100000003000000020000ffffffffff00000000ff0000000000',
  acknowledgement:
    '04617070046d2d3100000003000000020000ffffffffff030230030000000000000002000231020000000100010100ff0000000000',
  offsets:
    '04617070046d2d310000000300000002026900ffffffffff00000000ff0002023100000001000000000000002a00020231000000010000000000000032000000',
}

const bodies: Record<keyof typeof vectors, InputOfMessage<typeof streamsGroupHeartbeat>> = {
  join: {
    groupId: 'app',
    memberId: 'm-1',
    memberEpoch: 0,
    endpointInformationEpoch: -1,
    rebalanceTimeoutMs: 300_000,
    topology: {
      epoch: 0,
      subtopologies: [
        {
          subtopologyId: '0',
          sourceTopics: ['in'],
          sourceTopicRegex: [],
          stateChangelogTopics: [],
          repartitionSinkTopics: ['app-r-repartition'],
          repartitionSourceTopics: [],
          copartitionGroups: [],
        },
        {
          subtopologyId: '1',
          sourceTopics: ['t2'],
          sourceTopicRegex: [],
          stateChangelogTopics: [
            {
              name: 'app-store-changelog',
              partitions: 0,
              replicationFactor: 1,
              topicConfigs: [{ key: 'cleanup.policy', value: 'compact' }],
            },
          ],
          repartitionSinkTopics: [],
          repartitionSourceTopics: [
            { name: 'app-r-repartition', partitions: 0, replicationFactor: 0, topicConfigs: [] },
          ],
          copartitionGroups: [
            { sourceTopics: [0], sourceTopicRegex: [], repartitionSourceTopics: [0] },
          ],
        },
      ],
    },
    activeTasks: [],
    standbyTasks: [],
    warmupTasks: [],
    processId: 'p-1',
    userEndpoint: { host: 'h', port: 65_535 },
    clientTags: [],
  },
  keepAlive: { groupId: 'app', memberId: 'm-1', memberEpoch: 3, endpointInformationEpoch: 2 },
  acknowledgement: {
    groupId: 'app',
    memberId: 'm-1',
    memberEpoch: 3,
    endpointInformationEpoch: 2,
    activeTasks: [
      { subtopologyId: '0', partitions: [0, 2] },
      { subtopologyId: '1', partitions: [1] },
    ],
    standbyTasks: [],
    warmupTasks: [],
  },
  offsets: {
    groupId: 'app',
    memberId: 'm-1',
    memberEpoch: 3,
    endpointInformationEpoch: 2,
    instanceId: 'i',
    taskOffsets: [{ subtopologyId: '1', partition: 1, offset: 42 }],
    taskEndOffsets: [{ subtopologyId: '1', partition: 1, offset: 50 }],
  },
}

test.each(['join', 'keepAlive', 'acknowledgement', 'offsets'] as const)(
  'a struct, an array or a string that may be null is written and read as in the vector %s',
  (name) => {
    const writer = new Writer()
    streamsGroupHeartbeat.encode(1, bodies[name], writer)
    expect(writer.finish().toString('hex')).toBe(vectors[name])
    const reader = new Reader(Buffer.from(vectors[name], 'hex'))
    const decoded = streamsGroupHeartbeat.decode(1, reader)
    const {
      topology = null,
      userEndpoint = null,
      activeTasks = null,
      clientTags = null,
    } = bodies[name]
    expect(decoded).toMatchObject({
      topology,
      userEndpoint,
      activeTasks,
      clientTags,
      ...bodies[name],
    })
    expect(reader.remaining).toBe(0)
  },
)

const everyKind = defineMessage({
  name: 'Every kind',
  versions: [0, 1],
  flexible: 1,
  fields: {
    a: int8(),
    b: int16(),
    c: uint16(),
    d: int32(),
    e: int64(),
    f: float64(),
    g: boolean(),
    h: string(),
    i: bytes(),
    j: uuid(),
    k: array(int8()),
    l: struct({ m: int8() }),
  },
})

const everyValue = {
  a: -1,
  b: -2,
  c: 65_535,
  d: -3,
  e: -4,
  f: 1.5,
  g: true,
  h: 'x',
  i: Buffer.from([7]),
  j: zeroUuid,
  k: [1, 2],
  l: { m: 3 },
}

test('every kind of field is written and read', () => {
  const numbers = ['ff', 'fffe', 'ffff', 'fffffffd', 'fffffffffffffffc', '3ff8000000000000', '01']
  const id = '0'.repeat(32)
  const expected = [
    [...numbers, '000178', '0000000107', id, '00000002', '0102', '03'].join(''),
    [...numbers, '0278', '0207', id, '03', '0102', '03', '00', '00'].join(''),
  ]
  for (const version of [0, 1]) {
    const writer = new Writer()
    everyKind.encode(version, everyValue, writer)
    expect(writer.finish().toString('hex')).toBe(expected[version])
    expect(everyKind.decode(version, new Reader(writer.finish()))).toEqual(everyValue)
  }
})

test('null where it is not allowed is malformed, for every kind that could be null', () => {
  const cases = [
    { fields: { x: string() }, hex: 'ffff' },
    { fields: { x: bytes() }, hex: 'ffffffff' },
    { fields: { x: array(int8()) }, hex: 'ffffffff' },
  ]
  for (const { fields, hex } of cases) {
    const message = defineMessage({ name: 'One', versions: [0, 0], fields })
    expect(() => message.decode(0, new Reader(Buffer.from(hex, 'hex')))).toThrow(
      expect.objectContaining({ code: 'PROTOCOL_MALFORMED' }),
    )
  }
})

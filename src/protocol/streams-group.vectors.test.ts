/**
 * Messages of streams groups that Kafka 4.4's own generator made, with what they say written out: that
 * null (as before) and empty (nothing) stay apart is what the protocol stands on.
 */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { streamsGroupHeartbeat } from './messages/88-streams-group-heartbeat.ts'
import { streamsGroupDescribe } from './messages/89-streams-group-describe.ts'
import { Reader } from './reader.ts'
import type { Message } from './schema.ts'
import { Writer } from './writer.ts'

const vectors = JSON.parse(
  readFileSync(new URL('streams-group.vectors.json', import.meta.url), 'utf8'),
) as Record<string, string>

const asBefore = {
  instanceId: null,
  rackId: null,
  rebalanceTimeoutMs: -1,
  topology: null,
  activeTasks: null,
  standbyTasks: null,
  warmupTasks: null,
  processId: null,
  userEndpoint: null,
  clientTags: null,
  taskOffsets: null,
  taskEndOffsets: null,
  shutdownApplication: false,
}
const member = { groupId: 'app', memberId: 'm-1', endpointInformationEpoch: 2 }

const changelog = {
  name: 'app-store-changelog',
  partitions: 0,
  replicationFactor: 1,
  topicConfigs: [{ key: 'cleanup.policy', value: 'compact' }],
}
const repartition = {
  name: 'app-r-repartition',
  partitions: 0,
  replicationFactor: 0,
  topicConfigs: [],
}
const writer = {
  subtopologyId: '0',
  sourceTopics: ['in'],
  sourceTopicRegex: [],
  stateChangelogTopics: [],
  repartitionSinkTopics: ['app-r-repartition'],
  repartitionSourceTopics: [],
  copartitionGroups: [],
}
const reader = {
  subtopologyId: '1',
  sourceTopics: ['t2'],
  sourceTopicRegex: [],
  stateChangelogTopics: [changelog],
  repartitionSinkTopics: [],
  repartitionSourceTopics: [repartition],
  copartitionGroups: [{ sourceTopics: [0], sourceTopicRegex: [], repartitionSourceTopics: [0] }],
}

const told = {
  throttleTimeMs: 0,
  errorCode: 0,
  errorMessage: null,
  memberId: 'm-1',
  memberEpoch: 4,
  heartbeatIntervalMs: 5000,
  taskOffsetIntervalMs: 60_000,
  status: [{ statusCode: 3, statusDetail: 'x' }],
  activeTasks: [{ subtopologyId: '0', partitions: [0, 2] }],
  standbyTasks: [{ subtopologyId: '1', partitions: [1] }],
  warmupTasks: [],
  endpointInformationEpoch: 7,
  partitionsByUserEndpoint: [
    {
      userEndpoint: { host: 'h', port: 9090 },
      activePartitions: [{ topic: 'in', partitions: [0, 2] }],
      standbyPartitions: [],
    },
  ],
}

const tasks = { standbyTasks: [], warmupTasks: [] }
const assignment = { activeTasks: [{ subtopologyId: '0', partitions: [0] }], ...tasks }
const described = {
  throttleTimeMs: 0,
  groups: [
    {
      errorCode: 0,
      errorMessage: null,
      groupId: 'app',
      groupState: 'Stable',
      groupEpoch: 3,
      assignmentEpoch: 3,
      topology: {
        epoch: 0,
        subtopologies: [
          {
            subtopologyId: '0',
            sourceTopics: ['in'],
            repartitionSinkTopics: [],
            stateChangelogTopics: [],
            repartitionSourceTopics: [],
          },
        ],
      },
      members: [
        {
          memberId: 'm-1',
          memberEpoch: 3,
          instanceId: null,
          rackId: null,
          clientId: 'c',
          clientHost: '/127.0.0.1',
          topologyEpoch: 0,
          processId: 'p-1',
          userEndpoint: null,
          clientTags: [],
          taskOffsets: [],
          taskEndOffsets: [],
          assignment,
          targetAssignment: { activeTasks: [], ...tasks },
          isClassic: false,
        },
      ],
      authorizedOperations: -2_147_483_648,
      topologyDescription: null,
      topologyDescriptionStatus: 0,
      assignorName: null as string | null,
    },
  ],
}

/** What is left out of a version reads as its default. */
const rows: readonly (readonly [name: string, message: object, version: number, value: object])[] =
  [
    [
      'join request v0',
      streamsGroupHeartbeat.request,
      0,
      {
        ...member,
        ...asBefore,
        endpointInformationEpoch: -1,
        memberEpoch: 0,
        rebalanceTimeoutMs: 300_000,
        topology: { epoch: 0, subtopologies: [writer, reader] },
        activeTasks: [],
        standbyTasks: [],
        warmupTasks: [],
        processId: 'p-1',
        userEndpoint: { host: 'h', port: 65_535 },
        clientTags: [],
      },
    ],
    [
      'keep-alive request v0',
      streamsGroupHeartbeat.request,
      0,
      { ...member, ...asBefore, memberEpoch: 3 },
    ],
    [
      'acknowledgement request v0',
      streamsGroupHeartbeat.request,
      0,
      {
        ...member,
        ...asBefore,
        memberEpoch: 3,
        activeTasks: [
          { subtopologyId: '0', partitions: [0, 2] },
          { subtopologyId: '1', partitions: [1] },
        ],
        standbyTasks: [],
        warmupTasks: [],
      },
    ],
    [
      'offsets request v1',
      streamsGroupHeartbeat.request,
      1,
      {
        ...member,
        ...asBefore,
        memberEpoch: 3,
        instanceId: 'i',
        taskOffsets: [{ subtopologyId: '1', partition: 1, offset: 42 }],
        taskEndOffsets: [{ subtopologyId: '1', partition: 1, offset: 50 }],
      },
    ],
    [
      'leave request v0',
      streamsGroupHeartbeat.request,
      0,
      { ...member, ...asBefore, endpointInformationEpoch: 0, memberEpoch: -1 },
    ],
    [
      'full response v0',
      streamsGroupHeartbeat.response,
      0,
      {
        ...told,
        acceptableRecoveryLagLegacy: 0,
        acceptableRecoveryLag: -1,
        topologyDescriptionRequired: false,
      },
    ],
    [
      'full response v1',
      streamsGroupHeartbeat.response,
      1,
      {
        ...told,
        acceptableRecoveryLagLegacy: 0,
        acceptableRecoveryLag: 10_000,
        topologyDescriptionRequired: true,
      },
    ],
    [
      'unchanged response v0',
      streamsGroupHeartbeat.response,
      0,
      {
        ...told,
        acceptableRecoveryLagLegacy: 0,
        taskOffsetIntervalMs: 0,
        acceptableRecoveryLag: -1,
        topologyDescriptionRequired: false,
        status: null,
        activeTasks: null,
        standbyTasks: null,
        warmupTasks: null,
        partitionsByUserEndpoint: null,
      },
    ],
    [
      'error response v0',
      streamsGroupHeartbeat.response,
      0,
      {
        throttleTimeMs: 0,
        errorCode: 110,
        errorMessage: 'fenced',
        memberId: '',
        memberEpoch: 0,
        heartbeatIntervalMs: 0,
        acceptableRecoveryLagLegacy: 0,
        taskOffsetIntervalMs: 0,
        acceptableRecoveryLag: -1,
        status: null,
        activeTasks: null,
        standbyTasks: null,
        warmupTasks: null,
        topologyDescriptionRequired: false,
        endpointInformationEpoch: 0,
        partitionsByUserEndpoint: null,
      },
    ],
    [
      'describe request v0',
      streamsGroupDescribe.request,
      0,
      { groupIds: ['app'], includeAuthorizedOperations: true, includeTopologyDescription: false },
    ],
    [
      'describe request v1',
      streamsGroupDescribe.request,
      1,
      { groupIds: ['app'], includeAuthorizedOperations: true, includeTopologyDescription: true },
    ],
    ['describe response v0', streamsGroupDescribe.response, 0, described],
    [
      'describe response v1',
      streamsGroupDescribe.response,
      1,
      {
        ...described,
        groups: described.groups.map((group) => ({ ...group, assignorName: 'sticky' })),
      },
    ],
  ]

test.each(rows)('%s', (name, message, version, value) => {
  const { encode, decode } = bound(message as Message<unknown, unknown>)
  const bytes = Buffer.from(vectors[name] ?? '', 'hex')
  const from = new Reader(bytes)
  expect(decode(version, from)).toEqual(value)
  expect(from.remaining).toBe(0)
  const writerOfIt = new Writer()
  encode(version, value, writerOfIt)
  expect(writerOfIt.finish().toString('hex')).toBe(vectors[name])
})

test('there is a row for each vector', () => {
  expect(rows.map(([name]) => name).sort()).toEqual(Object.keys(vectors).sort())
})

function bound(message: Message<unknown, unknown>) {
  return {
    encode: (version: number, value: unknown, to: Writer) => message.encode(version, value, to),
    decode: (version: number, from: Reader) => message.decode(version, from),
  }
}

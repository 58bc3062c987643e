import { expect, test } from 'vitest'
import { fetchCommittedOffsets } from '../../src/client/offsets.ts'
import { StreamsGroupCoordinator } from '../../src/client/streams-group-coordinator.ts'
import type { KafkaStreams } from '../../src/index.ts'
import { BackgroundLoad } from './background-load.ts'
import { groupProtocol, staticMembers, type TestCluster } from './test-cluster.ts'
import { until } from './until.ts'
import { counts, heldByAll, isEqual, poem, startedCluster, wordCount } from './word-count.ts'

const partitions = 6
const names = ['a', 'b', 'c']
/** Nothing is written while the application is so many lines behind. */
const lagMax = 300
/** For a machine that is busy with other tests. */
const timeoutMs = 60_000
/** Longer than any restart may take here: nobody is missed. */
const sessionMs = 45_000

async function linesCommitted(cluster: TestCluster): Promise<number> {
  const topic = cluster.name('lines')
  const all = Array.from({ length: partitions }, (_, partition) => ({ topic, partition }))
  const offsets = await fetchCommittedOffsets(cluster.client, cluster.name('word-count'), all)
  return [...offsets.values()].reduce((sum, { offset }) => sum + Math.max(0, offset), 0)
}

/** What a group of the streams protocol raises whenever tasks may have to move. */
async function groupEpoch(cluster: TestCluster): Promise<number> {
  await using group = new StreamsGroupCoordinator(cluster.client, cluster.name('word-count'))
  return (await group.describe({ timeoutMs })).groupEpoch
}

/** Writes poems without a pause, as long as they are read; resolves with how many there were. */
async function writeUntil(cluster: TestCluster, signal: AbortSignal): Promise<number> {
  let poems = 0
  for (; !signal.aborted; poems += 1) {
    await cluster.write('lines', poem)
    const isAhead = async (): Promise<boolean> =>
      poems * poem.length - (await linesCommitted(cluster)) >= lagMax
    await until(async () => signal.aborted || !(await isAhead()))
  }
  return poems
}

test(
  'a rolling restart of static instances moves no task, restores nothing, and the others notice nothing',
  { ...staticMembers, timeout: timeoutMs },
  async ({ signal }) => {
    await using cluster = await startedCluster(partitions)
    const instances = new Map<string, KafkaStreams>()
    const events: string[] = []
    /** Who has joined in which generation, or at which epoch, the last one behind. */
    const joined: { name: string; generation: unknown }[] = []
    const start = async (name: string): Promise<void> => {
      const streams = cluster.streams(wordCount(cluster), name, {
        groupInstanceId: name,
        sessionTimeout: sessionMs,
        standbyReplicas: 1,
        logger: {
          debug: (message, fields) => {
            if (message === 'joined the group')
              joined.push({ name, generation: fields?.['generation'] ?? fields?.['epoch'] })
          },
          info: () => undefined,
          warn: () => undefined,
          error: () => undefined,
        },
      })
      streams.on('restore', (progress) => {
        if (progress.phase === 'batch' && progress.restored > 0)
          events.push(`${name} restored ${progress.restored} of ${progress.taskId}`)
      })
      streams.on('stateChange', (now) => events.push(`${name} is ${now}`))
      await streams.start()
      instances.set(name, streams)
    }
    const shown = (): string[] =>
      [...instances].map(([name, streams]) => {
        const tasks = streams.localTasks().map(({ id, role }) => `${role} ${id}`)
        return `${name}: ${tasks.sort().join(', ')}`
      })
    // The brokers' assignor is even in what is active alone.
    const isSpread = (): boolean => {
      const all = [...instances.values()]
      const roles = all.map((one) => one.localTasks().map(({ role }) => role))
      const isEven = roles.every((own) => own.filter((role) => role === 'active').length === 4)
      const standbys = roles.flat().filter((role) => role === 'standby')
      return all.every(({ state }) => state === 'running') && isEven && standbys.length === 6
    }

    // The first one to come leads the group, where members do.
    for (const name of names) await start(name)
    await using load = new BackgroundLoad((isOver) => writeUntil(cluster, isOver))
    // Six tasks with stores and six without, and a standby for each of the former.
    await until(async () => isSpread() && (await linesCommitted(cluster)) > 0, signal)
    const before = shown()
    const isClassic = groupProtocol === 'classic'
    const generation = isClassic ? joined.at(-1)?.generation : await groupEpoch(cluster)
    joined.length = 0
    for (const name of names) {
      const committed = await linesCommitted(cluster)
      await until(async () => (await linesCommitted(cluster)) > committed, signal)
      events.length = 0
      await instances.get(name)?.close()
      await start(name)
      await until(() => instances.get(name)?.state === 'running', signal)
      expect(shown()).toEqual(before)
      const ofOthers = events.filter((event) => !event.startsWith(`${name} is `))
      expect(ofOthers).toEqual([])
    }
    expect(joined).toEqual(names.map((name) => ({ name, generation })))
    const poems = await load.end()
    const expected = Object.fromEntries(
      Object.entries(counts).map(([word, count]) => [word, count * poems]),
    )
    const areAll = async (): Promise<boolean> =>
      isEqual(expected, await heldByAll(...instances.values()))
    await until(areAll, signal)
    expect(shown()).toEqual(before)

    // Whoever leads has been started anew, and can still give out tasks.
    await start('d')
    await until(() => (instances.get('d')?.localTasks().length ?? 0) > 0, signal)
  },
)

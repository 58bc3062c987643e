import { expect, test } from 'vitest'
import { settled } from '../../test/peers/scripted-appends.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { memoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import { listOffsets } from '../protocol/messages/2-list-offsets.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { StandbyTask } from '../task/standby-task.ts'
import { StateManager } from '../task/state-manager.ts'
import { StandbyReader } from './standby-reader.ts'

/** A standby of one store. */
function standbyOf(id: TaskId, store: string): StandbyTask {
  const metrics = new StreamsMetrics()
  const engine = memoryEngine('')
  const descriptor = keyValueStore(store, {
    key: serdes.string,
    value: serdes.long,
    persistent: false,
  })
  const state = new StateManager({
    task: id,
    applicationId: 'app',
    stores: [{ descriptor, timestamped: true, sourceTopic: undefined }],
    metrics,
    engines: { engine: () => engine, close: () => engine.close() },
    cacheBytesMax: 0,
  })
  const standby = new StandbyTask({ id, state, metrics })
  standby.initialize()
  return standby
}

test('changelogs that are gone or have no leader keep nobody else from hearing of its end', async () => {
  const cluster = await ScriptedCluster.start({ topics: { 'app-a-changelog': 2 } })
  const { clock } = cluster
  let end = 10
  cluster.node(1).on(listOffsets, ({ body }) => ({
    topics: body.topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({
        partitionIndex,
        errorCode: 0,
        offset: end,
      })),
    })),
  }))
  const [, orphan] = cluster.leaders.get('app-a-changelog') ?? []
  if (orphan !== undefined) orphan.node = -1
  const client = cluster.client()
  const reader = new StandbyReader({
    client,
    clock,
    isolation: 'read_uncommitted',
    onUpdate: () => undefined,
  })
  const standbys = [standbyOf('0_0', 'a'), standbyOf('0_1', 'a'), standbyOf('1_0', 'b')]
  for (const standby of standbys) reader.add(standby)
  reader.pause(true)
  const work = async (): Promise<void> => {
    for (let turn = 0; turn < 40; turn += 1) {
      reader.step(Infinity)
      await clock.run(100)
    }
  }
  await work()
  expect(reader.lags('0_0')).toEqual([{ store: 'a', offset: 0, endOffset: 10 }])
  end = 20
  await work()
  expect(reader.lags('0_0')).toEqual([{ store: 'a', offset: 0, endOffset: 20 }])
  expect(reader.lags('0_1')[0]?.endOffset).toBeUndefined()
  expect(reader.lags('1_0')[0]?.endOffset).toBeUndefined()
  await settled(clock, reader.close())
  for (const standby of standbys) standby.close({ clean: true })
  await client.close()
})

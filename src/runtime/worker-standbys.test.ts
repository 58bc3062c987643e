import { expect, test } from 'vitest'
import { settled } from '../../test/peers/scripted-appends.ts'
import { ScriptedCluster } from '../../test/peers/scripted-cluster.ts'
import { resolveConfig, systemPorts } from '../config.ts'
import { StreamsError } from '../errors.ts'
import type { KvTransaction } from '../kv/kv.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { Serde } from '../serde/serde.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import { TaskManager } from '../task/task-manager.ts'
import { InternalTopologyBuilder } from '../topology/internal-topology-builder.ts'
import { RecordBatchBuilder } from '../protocol/record-builder.ts'
import { WorkerStandbys } from './worker-standbys.ts'

/** On a disk that is full. */
class FullEngine extends MemoryEngine {
  override readonly persistent = true
  isClosed = false

  override begin(): KvTransaction {
    throw new StreamsError('DISK_FAILED', { path: '/state', detail: 'ENOSPC' })
  }

  override close(): void {
    this.isClosed = true
    super.close()
  }
}

function rows(): Buffer {
  const builder = new RecordBatchBuilder()
  builder.append(Buffer.from('a'), Buffer.from(serdes.long.serialize(1)), 7)
  return builder.build({ baseOffset: 0, producerId: -1, producerEpoch: -1, baseSequence: -1 })
}

test('a disk that fails keeps no standby from being closed', async () => {
  const cluster = await ScriptedCluster.start({ topics: { 'app-counts-changelog': 2 } })
  const { clock } = cluster
  const client = cluster.client()
  const engines: FullEngine[] = []
  const string = serdes.string as Serde<unknown>
  const descriptor = keyValueStore('counts', { key: serdes.string, value: serdes.long })
  const tasks = new TaskManager({
    topology: new InternalTopologyBuilder()
      .addSource('source', { topics: ['in'], key: string, value: string })
      .addProcessor('count', () => ({ process: () => undefined }), ['source'])
      .addStore({ descriptor, timestamped: true }, ['count'])
      .build(),
    applicationId: 'app',
    clock,
    sink: { partitionCount: () => 2, send: () => undefined, nextOffset: () => undefined },
    metrics: new StreamsMetrics(),
    engines: () => {
      const engine = new FullEngine()
      engines.push(engine)
      return { engine: () => engine, close: () => engine.close() }
    },
    cacheBytesPerTask: 0,
    partitionCount: () => 2,
    lag: () => 0,
  })
  const standbys = new WorkerStandbys({
    client,
    isolation: 'read_uncommitted',
    config: resolveConfig({ applicationId: 'app', brokers: ['kafka-1:9092'] }),
    ports: { ...systemPorts, clock },
    tasks,
    wipe: () => undefined,
    onUpdate: () => undefined,
  })
  await settled(clock, standbys.open(['0_0', '0_1'], new AbortController().signal))
  for (const standby of tasks.standbys.all.values()) {
    const [changelog] = standby.changelogs
    if (changelog !== undefined) standby.restore(changelog, rows(), Infinity)
  }
  await expect(settled(clock, standbys.end())).rejects.toMatchObject({ code: 'DISK_FAILED' })
  expect(engines.map(({ isClosed }) => isClosed)).toEqual([true, true])
  expect(tasks.standbys.all.size).toBe(0)
  await client.close()
})

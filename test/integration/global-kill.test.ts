import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemDisk } from '../../src/base/disk.ts'
import { createLog } from '../../src/base/log.ts'
import { randomInteger, seededRandom } from '../../src/base/random.ts'
import { lmdbEngine } from '../../src/kv/lmdb-engine.ts'
import { timestampedFormat } from '../../src/store/stored-value.ts'
import { GlobalOffsets } from '../../src/task/global-offsets.ts'
import { TestCluster } from './test-cluster.ts'

const program = fileURLToPath(new URL('global-instance.ts', import.meta.url))
const partitions = 3
const keysPerPartition = 500
const rounds = 4
const recordsPerBatch = 500

/** Writes random rows, each key to one partition alone; some are deleted. */
async function writeBatch(cluster: TestCluster, random: ReturnType<typeof seededRandom>) {
  const name = cluster.name('countries')
  for (let record = 0; record < recordsPerBatch; record += 1) {
    const partition = randomInteger(random, partitions)
    const key = Buffer.from(`${partition}-${randomInteger(random, keysPerPartition)}`)
    const value = random.next() < 0.1 ? null : Buffer.from(`value ${random.next()}`)
    cluster.producer.send(name, partition, key, value, systemClock.now(), [])
  }
  await cluster.producer.flush()
}

/** Lets an instance follow the topic for some batches, kills it, and gives what it printed first. */
async function followAndKill(
  cluster: TestCluster,
  random: ReturnType<typeof seededRandom>,
  batches: number,
): Promise<string> {
  const command = ['--import', 'tsx', program, cluster.address, cluster.name('countries')]
  const child = spawn(process.execPath, [...command, join(cluster.directory, 'kill')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  let first = ''
  let lines = 0
  for await (const line of createInterface({ input: child.stdout })) {
    if (first === '') first = line
    lines += 1
    if (lines > batches) child.kill('SIGKILL')
    else for (let batch = 0; batch < 3; batch += 1) await writeBatch(cluster, random)
  }
  const [, signal] = (await exited) as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
  return first
}

test('after kill -9 the engine holds the topic up to exactly the offsets that it says', async () => {
  await using cluster = await TestCluster.start()
  await cluster.createTopic('countries', partitions)
  const random = seededRandom(7)
  for (let batch = 0; batch < 4; batch += 1) await writeBatch(cluster, random)
  const warnings: string[] = []
  const log = createLog((_level, message) => warnings.push(message))
  let known = 0
  for (let round = 0; round < rounds; round += 1) {
    const first = await followAndKill(cluster, random, 2 + round * 2)
    const records = await cluster.read('countries')
    const directory = join(cluster.directory, 'kill', 'global', 'global')
    using engine = lmdbEngine({ disk: systemDisk, clock: systemClock, log })(directory)
    const offsets = new GlobalOffsets(engine)
    const topic = cluster.name('countries')
    const expected = new Map<string, string>()
    let total = 0
    for (let partition = 0; partition < partitions; partition += 1) {
      const offset = offsets.get({ store: 'countries', topic, partition }) ?? 0
      total += offset
      for (const { key, value, offset: at } of records.filter(
        (one) => one.partition === partition,
      )) {
        if (at >= offset) continue
        if (value === null) expected.delete(String(key))
        else expected.set(String(key), String(value))
      }
    }
    const rows = new Map(
      [...engine.table('countries').range()].map(({ key, value }) => [
        String(key),
        String(timestampedFormat.decode(value).value),
      ]),
    )
    expect(rows).toEqual(new Map([...expected].sort(([a], [b]) => (a < b ? -1 : 1))))
    // What the engine had was not read again.
    expect(first).toMatch(/^restored \d+$/)
    const restoredMost = round > 0 ? records.length - known : Infinity
    expect(Number(first.split(' ')[1])).toBeLessThanOrEqual(restoredMost)
    expect(total).toBeGreaterThan(known)
    known = total
  }
  expect(warnings).toEqual([])
}, 120_000)

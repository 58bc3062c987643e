import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { TestCluster } from './test-cluster.ts'

const program = fileURLToPath(new URL('store-full-disk-instance.ts', import.meta.url))
const rowCount = 6_000
const valueBytes = 2_000

/** No file may become larger than this: less than the rows need. */
const limitKb = 4_096

/** Runs the instance to its end, in a shell that does this first; what it printed. */
async function run(cluster: TestCluster, stateDir: string, before = ''): Promise<string> {
  const args = [cluster.address, cluster.name('rows'), stateDir, String(rowCount)]
  const command = `${before} exec "$0" --import tsx "$@"`
  const child = spawn('bash', ['-c', command, process.execPath, program, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const exited = once(child, 'exit')
  const output = await text(child.stdout)
  await exited
  return output.trim()
}

async function writeRows(cluster: TestCluster): Promise<void> {
  await cluster.createTopic('rows', 1)
  for (let row = 0; row < rowCount; row += 1) {
    const key = `key ${row}`
    const value = `${key}:${'v'.repeat(valueBytes)}`
    cluster.producer.send(
      cluster.name('rows'),
      0,
      Buffer.from(key),
      Buffer.from(value),
      systemClock.now(),
      [],
    )
  }
  await cluster.producer.flush()
}

// A limit on the size of files fails writes as a full disk does, at the same system calls.
test.skipIf(process.platform === 'win32')(
  'a full disk ends the instance with a clear error; with room, all is there again',
  { timeout: 90_000 },
  async () => {
    await using cluster = await TestCluster.start()
    await writeRows(cluster)
    const stateDir = join(cluster.directory, 'full')
    const full = await run(cluster, stateDir, `ulimit -f ${limitKb};`)
    expect(full).toBe('DISK_FAILED, error')
    const all = `${rowCount} of ${rowCount} rows are right, not-running`
    expect(await run(cluster, stateDir)).toBe(all)
  },
)

// Nothing can be made there, by nobody.
test.skipIf(process.platform !== 'linux')(
  'a directory that cannot be written is told before anything is started',
  { timeout: 60_000 },
  async () => {
    await using cluster = await TestCluster.start()
    await cluster.createTopic('rows', 1)
    expect(await run(cluster, '/proc/millpond')).toBe('STATE_DIRECTORY_FAILED, error')
  },
)

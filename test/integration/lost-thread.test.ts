/** Threads that cannot be ended. They run what was built: `npm run build` first, as `npm test` does. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { TestCluster, classicOnly, devBrokerOnly } from './test-cluster.ts'

const program = fileURLToPath(new URL('lost-thread.js', import.meta.url))

/** All in one partition: the thread that does the deed is kept at work. */
function send(cluster: TestCluster, word: string): void {
  const bytes = Buffer.from(word)
  cluster.producer.send(cluster.name('words'), 0, bytes, bytes, systemClock.now(), [])
}

test.each([
  ['close', 'stuck!', []],
  ['wait', 'stuck without memory!', ['--max-old-space-size=96']],
] as const)(
  'an instance that has lost a thread fails, and nobody opens its state: %s, %s',
  { timeout: 60_000, skip: classicOnly.skip || devBrokerOnly.skip },
  async (how, deed, flags) => {
    await using cluster = await TestCluster.start()
    await cluster.createTopic('words', 2)
    const done = join(cluster.directory, 'once')
    const module = new URL('threaded-words.js', import.meta.url)
    module.searchParams.set('input', cluster.name('words'))
    module.searchParams.set('once', done)
    module.searchParams.set('busily', '')
    const names = [module.href, cluster.address, cluster.name('counts')]
    const settings = [...names, join(cluster.directory, 'state'), done]
    const child: ChildProcess = spawn(process.execPath, [...flags, program, how, ...settings], {
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    const ended = once(child, 'exit')
    await using _killed = {
      [Symbol.asyncDispose]: async () => {
        child.kill('SIGKILL')
        await ended
      },
    }
    const told: unknown[] = []
    const lines = createInterface({ input: child.stdout as Readable })
    lines.on('line', (line) => told.push(JSON.parse(line)))
    await once(lines, 'line')
    send(cluster, deed)
    for (let word = 0; !existsSync(done); word += 1) {
      send(cluster, `word-${word}`)
      if (word % 1000 === 0) await cluster.producer.flush()
    }

    expect(await ended).toEqual([null, 'SIGKILL'])
    const error = {
      code: 'WORKER_DIED',
      message:
        'The thread of worker 1 could not be ended: it does not come out of a write to its state, for want of memory or because the disk does not answer. Its state cannot be opened before this process has ended.',
    }
    const message = expect.stringContaining(`in use by process ${child.pid}`) as string
    expect(told).toEqual([
      'running',
      error,
      how === 'close' ? 'not-running' : 'error',
      { code: 'STATE_DIRECTORY_LOCKED', message },
    ])
  },
)

import { fork, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterEach, expect, test } from 'vitest'
import { systemTransport } from '../../src/base/transport.ts'
import { offsetCommit } from '../../src/protocol/messages/8-offset-commit.ts'
import { offsetFetch } from '../../src/protocol/messages/9-offset-fetch.ts'
import { RawClient, batchOf, create, fetchOne, produceOne } from './raw-client.ts'
import { RawProducer, committedOffset, committedValues } from './raw-transactions.ts'
import { until } from './until.ts'

/** Two processes are started, each of which compiles the broker first. */
const startsProcesses = { timeout: 60_000 }

const children: ChildProcess[] = []
const directories: string[] = []

afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  for (const directory of directories.splice(0)) rmSync(directory, { recursive: true })
})

interface BrokerProcess {
  child: ChildProcess
  connect: () => Promise<RawClient>
}

async function startProcess(dataDir: string): Promise<BrokerProcess> {
  const script = fileURLToPath(new URL('./broker-process.ts', import.meta.url))
  const child = fork(script, [dataDir], { execArgv: ['--import', 'tsx'] })
  children.push(child)
  const [message] = (await once(child, 'message')) as [{ port: number }]
  const options = { host: '127.0.0.1', port: message.port, timeoutMs: 5_000 }
  return {
    child,
    connect: async () => new RawClient(await systemTransport.connect(options)),
  }
}

/**
 * Writes one record after the other until the broker is gone; returns the offsets of the answers.
 */
async function produceUntilGone(client: RawClient): Promise<(number | undefined)[]> {
  const offsets: (number | undefined)[] = []
  try {
    for (;;) {
      const { baseOffset } = await produceOne(client, 't', batchOf([`v${offsets.length}`]))
      offsets.push(baseOffset)
    }
  } catch (error) {
    if (!client.isClosed) throw error
    return offsets
  }
}

test(
  'what was acknowledged before a kill -9 is there when the broker is started again',
  startsProcesses,
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'millpond-broker-'))
    directories.push(dataDir)
    const first = await startProcess(dataDir)
    const [writer, watcher] = [await first.connect(), await first.connect()]
    await create(writer, 't', { 'segment.bytes': '10000' })
    const partitions = [{ partitionIndex: 0, committedOffset: 5, committedMetadata: 'm' }]
    await writer.request(offsetCommit, 2, { groupId: 'g', topics: [{ name: 't', partitions }] })
    const producing = produceUntilGone(writer)
    // The broker is killed in the middle of the writing, when the log has grown over several
    // segments.
    await until(async () => (await fetchOne(watcher, 't', { offset: 500 })).error === 'NONE')
    first.child.kill('SIGKILL')
    const acknowledged = await producing
    expect(acknowledged.length).toBeGreaterThan(499)
    expect(acknowledged).toEqual(acknowledged.map((_, index) => index))
    const client = await (await startProcess(dataDir)).connect()
    let found = 0
    for (;;) {
      const { values, highWatermark } = await fetchOne(client, 't', { offset: found })
      for (const value of values) {
        expect(value).toBe(`${found}:v${found}`)
        found += 1
      }
      if (found === highWatermark) break
    }
    expect(found).toBeGreaterThanOrEqual(acknowledged.length)
    const { topics } = await client.request(offsetFetch, 5, { groupId: 'g', topics: null })
    expect(topics[0]?.partitions[0]).toMatchObject({ committedOffset: 5, metadata: 'm' })
  },
)

/** Round after round: a record to each of two topics and an offset, committed together. */
async function commitUntilGone(client: RawClient, producer: RawProducer): Promise<number> {
  let rounds = 0
  try {
    for (;;) {
      await producer.produce('t', [`round ${rounds}`])
      await producer.produce('u', [`round ${rounds}`])
      await producer.commitOffset('g', 't', rounds + 1)
      const { error } = await producer.end('commit')
      if (error !== 'NONE') throw new Error(error)
      rounds += 1
    }
  } catch (error) {
    if (!client.isClosed) throw error
    return rounds
  }
}

test(
  'after a kill -9 a transaction is there as a whole or not at all, and one that was committed is there',
  startsProcesses,
  async () => {
    const dataDir = mkdtempSync(join(tmpdir(), 'millpond-broker-'))
    directories.push(dataDir)
    let rounds = 0
    for (let life = 0; life < 3; life += 1) {
      const process = await startProcess(dataDir)
      const [client, watcher] = [await process.connect(), await process.connect()]
      if (life === 0) for (const topic of ['t', 'u']) await create(client, topic)
      // Whatever the last life left open is aborted by this.
      const producer = new RawProducer(client, 'tx')
      await producer.init()
      const [first, second] = [
        await committedValues(client, 't'),
        await committedValues(client, 'u'),
      ]
      const committed = await committedOffset(client, 'g', 't', { requireStable: true })
      expect(first).toEqual(second)
      expect(first.length).toBeGreaterThanOrEqual(rounds)
      expect(committed).toBe(first.length === 0 ? -1 : Number(first.at(-1)?.split(' ')[1]) + 1)
      const working = commitUntilGone(client, producer)
      await until(
        async () => (await fetchOne(watcher, 't', { offset: 60 * (life + 1) })).error === 'NONE',
      )
      process.child.kill('SIGKILL')
      rounds = first.length + (await working)
    }
  },
)

/** Runs the example with two threads, on a broker in this process: `npx tsx --test examples/fingerprints.test.ts`. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import kafkajs from 'kafkajs'
import { startBroker } from 'millpond/broker'
import { fingerprinting } from './fingerprints.ts'
import { documents, fingerprint, fingerprints, topology } from './fingerprints-topology.js'
import { TopologyTestDriver } from 'millpond/testing'

const { Kafka, logLevel } = kafkajs

await test('the fingerprint of each document is in its store', () => {
  using driver = new TopologyTestDriver(topology)
  driver.input(documents).pipe({ key: 'a', value: 'to be or not to be' })
  strictEqual(driver.store(fingerprints).get('a'), fingerprint('to be or not to be'))
})

await test('two workers share the partitions', async () => {
  const stateDir = mkdtempSync(join(tmpdir(), 'fingerprints-'))
  const broker = await startBroker()
  const admin = new Kafka({ brokers: [broker.address], logLevel: logLevel.NOTHING }).admin()
  try {
    await admin.createTopics({ topics: [{ topic: 'documents', numPartitions: 4 }] })
    await using streams = fingerprinting({
      applicationId: 'fingerprints',
      brokers: [broker.address],
      stateDir,
      workers: 2,
      heartbeatInterval: 100,
    })
    await streams.start()
    while (streams.localWorkers().some(({ tasks }) => tasks.length !== 2)) await sleep(20)
    deepStrictEqual(
      streams.localWorkers().map(({ number }) => number),
      [1, 2],
    )
  } finally {
    await admin.disconnect()
    await broker.close()
    rmSync(stateDir, { recursive: true, force: true })
  }
})

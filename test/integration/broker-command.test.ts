import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { silentLog } from '../../src/base/log.ts'
import { Admin } from '../../src/client/admin.ts'
import { ClientSecurity } from '../../src/client/client-security.ts'
import { KafkaClient } from '../../src/client/kafka-client.ts'
import { systemPorts } from '../../src/config.ts'
import { failureOf } from '../peers/failure-of.ts'
import { localhostCertificate } from '../peers/localhost-certificate.ts'
import { MillpondProcess } from './demo-process.ts'
import { until } from './until.ts'

const directory = mkdtempSync(join(tmpdir(), 'millpond-broker-command-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

/** Runs the command until it says where it listens. */
async function start(...args: string[]): Promise<{ broker: MillpondProcess; port: string }> {
  const broker = new MillpondProcess('broker', '--port', '0', ...args)
  const port = await until(() => /on 127\.0\.0\.1:(\d+), /.exec(broker.stdout)?.[1])
  return { broker, port }
}

/** Partitions of each topic, and the policy of one. */
async function topicsAt(port: string, security?: ClientSecurity): Promise<Record<string, number>> {
  await using client = new KafkaClient({
    brokers: [`127.0.0.1:${port}`],
    log: silentLog,
    ...(security && { security }),
    ...systemPorts,
  })
  const topics = await new Admin(client).listTopics()
  const metadata = await client.topicMetadata([...topics.keys()])
  return Object.fromEntries(
    [...metadata].map(([name, topic]) => [name, topic?.partitions.length ?? 0]),
  )
}

test('the broker makes the topics that it is told before it says that it is there', async () => {
  const dataDir = join(directory, 'data')
  const topics = ['--topic', 'text-lines:6', '--topic', 'counts:2:cleanup.policy=compact']
  {
    const { broker, port } = await start('--data-dir', dataDir, ...topics)
    await using _broker = broker
    expect(await topicsAt(port)).toEqual({ 'text-lines': 6, counts: 2 })
    await using client = new KafkaClient({
      brokers: [`127.0.0.1:${port}`],
      log: silentLog,
      ...systemPorts,
    })
    const [configs = []] = await new Admin(client).describeConfigs([
      { type: 'topic', name: 'counts' },
    ])
    expect(configs).toContainEqual(
      expect.objectContaining({ name: 'cleanup.policy', value: 'compact' }),
    )
    broker.signal('SIGINT')
    expect(await broker.result).toMatchObject({ code: 0, stderr: '' })
  }
  // One that is there already stays as it is; that it is another than asked for is said.
  const { broker, port } = await start(
    '--data-dir',
    dataDir,
    '--topic',
    'text-lines:9',
    '--topic',
    'counts:2',
  )
  await using _broker = broker
  expect(await topicsAt(port)).toEqual({ 'text-lines': 6, counts: 2 })
  expect(broker.stderr).toBe(
    'The topic text-lines is there already, with 6 partitions: it is left as it is.\n',
  )
})

test.each([
  [['--topic', 'a b:6'], 2, 'only letters, digits'],
  [['--topic', 'a:0'], 2, 'The partitions of a are a whole number from 1 to 10000, not "0".'],
  [['--topic', 'a:1:cleanup.policy=melt'], 1, 'cleanup.policy'],
  [['--topic', 'a:1:no.such.config=1'], 1, 'no.such.config'],
])('broker %j ends with code %i and says why', async (args, code, message) => {
  await using broker = new MillpondProcess('broker', '--port', '0', ...args)
  const result = await broker.result
  expect(result).toMatchObject({ code, stdout: '', stderr: expect.stringContaining(message) })
  // Wrong usage is followed by a hint at the help.
  expect(result.stderr.trimEnd().split('\n')).toHaveLength(code)
})

test('the broker wants TLS and users when it is told so', async () => {
  const files = {
    '--tls-cert': localhostCertificate.cert,
    '--tls-key': localhostCertificate.key,
    '--sasl-users': 'alice:secret\n',
  }
  const args = Object.entries(files).flatMap(([option, text]) => {
    const path = join(directory, option)
    writeFileSync(path, text)
    return [option, path]
  })
  const { broker, port } = await start(...args, '--topic', 'lines:6')
  await using _broker = broker
  const known = new ClientSecurity({
    tls: { ca: localhostCertificate.cert },
    sasl: { mechanism: 'scram-sha-256', username: 'alice', password: 'secret' },
  })
  expect(await topicsAt(port, known)).toEqual({ lines: 6 })
  const stranger = new ClientSecurity({ tls: true })
  expect(await failureOf(topicsAt(port, stranger))).toMatchObject({ code: 'TLS_FAILED' })
})

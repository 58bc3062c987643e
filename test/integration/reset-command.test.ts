/** `millpond reset` as a person runs it. What it does is tested in reset.test.ts. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startBroker, type Broker } from '../../src/broker/index.ts'
import { localhostCertificate } from '../peers/localhost-certificate.ts'
import { MillpondProcess, type ProgramResult } from './demo-process.ts'
import { batchOf, connect, create, produceOne } from './raw-client.ts'

let broker: Broker

beforeAll(async () => {
  broker = await startBroker({ autoCreateTopics: false })
  const client = await connect(broker)
  for (const name of ['lines', 'app-counts-changelog', 'app-out']) await create(client, name)
  for (const value of ['a', 'b', 'c'])
    await produceOne(client, 'lines', batchOf([value], { timestamp: Date.now() }))
  client.close()
})

afterAll(() => broker.close())

async function reset(...args: readonly string[]): Promise<ProgramResult> {
  const where = ['--application-id', 'app', '--bootstrap-server', broker.address]
  await using program = new MillpondProcess('reset', ...where, ...args)
  return await program.result
}

test('a dry run tells what a reset then does', async () => {
  const input = ['--input-topics', 'lines,nowhere', '--to-offset', '2']
  const dry = await reset(...input, '--dry-run')
  expect(dry).toEqual({
    code: 1,
    stdout: `topic nowhere: does not exist, is left out
offset of lines-0: nothing committed -> 2
topic app-counts-changelog: is deleted
Nothing was changed: this was a dry run.
`,
    stderr: '',
  })
  const done = await reset('--input-topics', 'lines', '--to-latest')
  expect([done.code, done.stdout]).toEqual([
    0,
    `offset of lines-0: nothing committed -> 3
topic app-counts-changelog: is deleted
Done. Before the application starts again, its state has to go on every instance: cleanUp() does that.
`,
  ])
  expect((await reset('--input-topics', 'lines', '--shift-by', '-7')).stdout).toContain(
    'offset of lines-0: 3 -> 0, as the log does not have -4\n',
  )
})

test('an application that nobody knows is told', async () => {
  const where = ['--application-id', 'ap', '--bootstrap-server', broker.address]
  await using program = new MillpondProcess('reset', ...where, '--dry-run')
  expect((await program.result).stdout)
    .toBe(`application ap: is not known, there is no group of that name and no topic of its own
Nothing was changed: this was a dry run.
`)
})

test('what does not go together, or is no position, is wrong usage', async () => {
  const both = await reset('--to-latest', '--to-earliest')
  expect([both.code, both.stderr]).toEqual([2, expect.stringContaining('cannot be used with')])
  const rubbish = await reset('--to-datetime', 'yesterday')
  expect([rubbish.code, rubbish.stderr]).toEqual([2, expect.stringContaining('It is a time such')])
  const stranger = await reset('--internal-topics', 'app-out')
  expect([stranger.code, stranger.stderr]).toEqual([
    1,
    expect.stringContaining('app-out is not among the internal topics of app'),
  ])
})

test('brokers that want TLS and a user are told of in a file', async () => {
  const { cert, key } = localhostCertificate
  await using secured = await startBroker({
    tls: { cert, key },
    sasl: { users: { alice: 'secret' } },
  })
  const directory = mkdtempSync(join(tmpdir(), 'millpond-reset-'))
  try {
    writeFileSync(join(directory, 'ca.pem'), cert)
    const config = join(directory, 'client.json')
    const sasl = { mechanism: 'scram-sha-256', username: 'alice', password: 'secret' }
    writeFileSync(config, JSON.stringify({ tls: { ca: 'ca.pem' }, sasl }))
    const where = ['--application-id', 'app', '--bootstrap-server', secured.address]
    await using program = new MillpondProcess('reset', ...where, '--command-config', config)
    expect(await program.result).toMatchObject({ code: 0, stderr: '' })
    writeFileSync(config, JSON.stringify({ tls: true, sasl }))
    await using refused = new MillpondProcess('reset', ...where, '--command-config', config)
    expect(await refused.result).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('No TLS connection'),
    })
  } finally {
    rmSync(directory, { recursive: true })
  }
})

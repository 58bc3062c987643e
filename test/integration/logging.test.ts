import { spawn } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { expect, onTestFinished, test } from 'vitest'

const door = fileURLToPath(new URL('../../dist/index.js', import.meta.url))

/**
 * Runs a small program on a broker that is not there, until it has failed three times, with this
 * source text for its option `logger`. Returns what it wrote to standard error.
 */
async function errorTextOf(logger: string): Promise<string> {
  const program = `
    import { subscribe } from 'node:diagnostics_channel'
    import { KafkaStreams, StreamsBuilder, serdes, topic } from ${JSON.stringify(door)}
    const builder = new StreamsBuilder()
    builder.stream(topic('lines', { value: serdes.string })).filter(() => true)
    const streams = new KafkaStreams(builder.build(), {
      applicationId: 'alone', brokers: ['127.0.0.1:1'], logger: ${logger} })
    let tries = 0
    subscribe('net.client.socket', () => {
      tries += 1
      if (tries === 4) void streams.close()
    })
    await streams.start().catch(() => undefined)
    await streams.closed`
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], {
    stdio: ['ignore', 'ignore', 'pipe'],
    env: { ...process.env, NODE_NO_WARNINGS: '1' },
  })
  onTestFinished(() => void child.kill())
  let text = ''
  child.stderr.on('data', (bytes: Buffer) => (text += bytes.toString()))
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect({ code, text }).toMatchObject({ code: 0 })
  return text
}

const time = String.raw`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z`

test('a program without a broker says so by itself, in one line', async () => {
  const [first, second, ...others] = (await errorTextOf('undefined')).trimEnd().split('\n')
  const message = 'WARN millpond alone: cannot reach any broker of 127.0.0.1:1, trying again'
  const reason = 'reason="connect ECONNREFUSED 127.0.0.1:1"'
  expect(first).toMatch(new RegExp(`^${time} ${message} ${reason}$`))
  // What came after the first is told as a number when the instance is closed.
  expect(second).toMatch(
    new RegExp(String.raw`^${time} ${message} \(\d+ more in the last 60 s\) ${reason}$`),
  )
  expect(others).toEqual([])
})

test('it says what it does when it is asked to, and nothing when it is asked to be silent', async () => {
  const told = await Promise.all([`'info'`, `'error'`, `'silent'`].map(errorTextOf))
  expect(told[0]).toContain('INFO millpond alone: the state changed now=rebalancing before=created')
  expect(told.slice(1)).toEqual(['', ''])
})

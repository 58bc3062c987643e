import { mkdtempSync, rmSync, writeFileSync, existsSync } from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { isAllProcessed } from '../../src/cli/demo/count-completion.ts'
import { Admin } from '../../src/client/admin.ts'
import { KafkaClient } from '../../src/client/kafka-client.ts'
import { silentLog } from '../../src/base/log.ts'
import { systemPorts } from '../../src/config.ts'
import { MillpondProcess } from './demo-process.ts'
import { until } from './until.ts'
import { countWords, makeText, topLines, topLinesByPerl } from './word-table.ts'

const directories: string[] = []
afterEach(() => {
  for (const path of directories.splice(0)) rmSync(path, { recursive: true, force: true })
})

function temporaryDirectory(): string {
  const path = mkdtempSync(join(tmpdir(), 'millpond-demo-test-'))
  directories.push(path)
  return path
}

const megabyte = 1024 * 1024

test(
  'three texts are counted as others count them, and by a restart not once more',
  {
    timeout: 120_000,
  },
  async () => {
    const directory = temporaryDirectory()
    const texts = [makeText(1, megabyte), makeText(2, megabyte, '\r\n'), makeText(3, megabyte)]
    const files = texts.map((text, index) => {
      const path = join(directory, `text-${index}.txt`)
      writeFileSync(path, text)
      return path
    })
    const dataDir = join(directory, 'data')
    const inputs = files.flatMap((path) => ['--input', path])
    const args = ['demo', '--once', '--port', '0', '--data-dir', dataDir, ...inputs]
    const expected = topLines(countWords(...texts))
    // Where there is no perl, the loop over code points is the judge alone.
    expect(topLinesByPerl(files) ?? expected).toBe(expected)

    for (const run of ['first', 'second']) {
      await using demo = new MillpondProcess(...args)
      const { code, stdout, stderr } = await demo.result
      expect({ run, code, stdout, stderr }).toEqual({
        run,
        code: 0,
        stdout: expected,
        stderr: expect.any(String),
      })
    }
  },
)

/** All words with their counts, from one instance; undefined while it cannot tell. */
async function table(port: number): Promise<Map<string, number> | undefined> {
  const words = new Map<string, number>()
  let cursor: string | null = ''
  while (cursor !== null) {
    const next: string = cursor === '' ? '' : `&cursor=${cursor}`
    const url = `http://127.0.0.1:${port}/v1/stores/word-counts/keys?limit=1000${next}`
    const response = await fetch(url)
    if (response.status !== 200) return undefined
    const page = (await response.json()) as {
      rows: { key: string; value: number }[]
      cursor: string | null
    }
    for (const { key, value } of page.rows) words.set(key, value)
    cursor = page.cursor
  }
  return words
}

function isEqual(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean {
  return a.size === b.size && [...a].every(([word, count]) => b.get(word) === count)
}

/** The hosts that hold partitions of the store, as an instance tells. */
async function owners(port: number): Promise<Set<string | null>> {
  const url = `http://127.0.0.1:${port}/v1/metadata/stores/word-counts`
  const { partitions } = (await (await fetch(url)).json()) as {
    partitions: { active: string | null }[]
  }
  return new Set(partitions.map(({ active }) => active))
}

test(
  'after kill -9 the other instance takes over with the right counts, and gives back its share',
  {
    timeout: 120_000,
  },
  async ({ signal }) => {
    const dataDir = join(temporaryDirectory(), 'data')
    const [before, after] = [makeText(4, 200_000), makeText(5, 200_000)]
    const args = ['demo', '--port', '0', '--data-dir', dataDir, '--input', '-']
    {
      await using demo = new MillpondProcess(...args)
      const broker = (await demo.said(/broker +(127\.0\.0\.1:\d+)/))[1] ?? ''
      await demo.said(/Ctrl-C stops everything/)
      const [first, second] = [...demo.stderr.matchAll(/localhost:(\d+) +\(process (\d+)\)/g)].map(
        ([, port, pid]) => ({ port: Number(port), pid: Number(pid) }),
      )
      if (first === undefined || second === undefined) throw new Error(demo.stderr)

      demo.write(`${before}\n`)
      const half = countWords(before)
      await until(async () => isEqual(half, (await table(first.port)) ?? new Map()), signal)
      await until(() => isCommitted(broker), signal)
      process.kill(second.pid, 'SIGKILL')
      await demo.said(/is gone: it was killed \(SIGKILL\)/)
      await demo.said(/take over its partitions when its session ends, after 6 seconds/)

      demo.write(`${after}\n`)
      const all = countWords(before, after)
      await until(async () => isEqual(all, (await table(first.port)) ?? new Map()), signal)
      expect(await owners(first.port)).toEqual(new Set([`127.0.0.1:${first.port}`]))

      demo.signal('SIGUSR2')
      await demo.said(/instance 2 is back/)
      await until(async () => (await owners(first.port)).size === 2, signal)
      for (const { port } of [first, second]) {
        await until(async () => isEqual(all, (await table(port)) ?? new Map()), signal)
      }
      const [, pid] = /http:\/\/localhost:\d+ +\(process (\d+)\)/.exec(demo.stderr) ?? []
      process.kill(Number(pid), 'SIGTERM')
      await demo.said(/instance 1 \(port \d+\) is gone: it ended with exit code 0\./)
      await demo.said(/It has left in order: the others take over its partitions at once/)
      demo.signal('SIGINT')
      expect((await demo.result).code).toBe(0)
    }
    await using again = new MillpondProcess(...args, '--once')
    again.endInput()
    expect(await again.result).toMatchObject({
      code: 0,
      stdout: topLines(countWords(before, after)),
    })
  },
)

/** True when everything that was written so far is processed for good. */
async function isCommitted(broker: string): Promise<boolean> {
  await using client = new KafkaClient({ brokers: [broker], log: silentLog, ...systemPorts })
  const { signal } = new AbortController()
  const admin = new Admin(client)
  // Awaited here: the client is closed at the end of this function.
  return await isAllProcessed({ client, admin }, 'word-count', 'text-lines', signal)
}

test(
  'a demo that is killed leaves nothing behind that runs',
  { timeout: 60_000 },
  async ({ signal }) => {
    const dataDir = join(temporaryDirectory(), 'data')
    const args = ['--port', '0', '--data-dir', dataDir, '--instances', '1', '--input', '-']
    await using demo = new MillpondProcess('demo', ...args)
    const broker = (await demo.said(/broker +127\.0\.0\.1:(\d+)/))[1]
    const [, port, pid] = await demo.said(/localhost:(\d+) +\(process (\d+)\)/)
    demo.signal('SIGKILL')
    await demo.result
    for (const one of [broker, port]) {
      await until(async () => !(await isListening(Number(one))), signal)
    }
    await until(() => !isRunning(Number(pid)), signal)
    expect(isRunning(demo.pid)).toBe(false)
  },
)

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port }, () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch {
    return false
  }
}

/** What a program says whose port is taken. */
const portInUse = (port: number | string): string =>
  `millpond: Port ${port} on 127.0.0.1 is in use by another program. Choose another with --port; 0 takes any free one. (ADDRESS_IN_USE)\n`

test(
  'a missing text, a directory, a port in use and wrong usage end with one line',
  {
    timeout: 60_000,
  },
  async () => {
    const dataDir = join(temporaryDirectory(), 'data')
    const server = createServer()
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const { port } = server.address() as AddressInfo
    const cases = [
      {
        args: ['--input', '/nowhere/text'],
        code: 1,
        line: 'The input /nowhere/text does not exist',
      },
      { args: ['--input', tmpdir()], code: 1, line: 'is a directory' },
      { args: ['--port', String(port)], code: 1, line: portInUse(port) },
      { args: ['--instances', '0'], code: 2, line: 'It must be from 1 to 16' },
      { args: ['--rate', 'fast'], code: 2, line: 'a number of lines a second' },
    ]
    const check = async ({ args, code, line }: (typeof cases)[number]): Promise<void> => {
      await using demo = new MillpondProcess('demo', '--data-dir', dataDir, ...args)
      const result = await demo.result
      expect({ args, code: result.code, stdout: result.stdout }).toEqual({ args, code, stdout: '' })
      expect(result.stderr).toContain(line)
      // Wrong usage is followed by a hint at the help.
      expect(result.stderr.trimEnd().split('\n')).toHaveLength(code)
    }
    await Promise.all(cases.map(check))
    expect(existsSync(dataDir)).toBe(false)
    await new Promise((resolve) => server.close(resolve))
  },
)

test('the broker says in one line that it is there, stops on SIGINT, and names a port in use', async () => {
  await using broker = new MillpondProcess('broker', '--port', '0')
  const port = await until(() => /on 127\.0\.0\.1:(\d+), in memory/.exec(broker.stdout)?.[1])
  {
    await using other = new MillpondProcess('broker', '--port', port)
    const { code, stderr } = await other.result
    expect({ code, stderr }).toEqual({ code: 1, stderr: portInUse(port) })
  }
  broker.signal('SIGINT')
  const { code, stdout, stderr } = await broker.result
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout.trimEnd().split('\n')).toHaveLength(1)
})

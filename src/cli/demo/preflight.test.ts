import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { DemoOptions } from './demo-options.ts'
import { preflight } from './preflight.ts'

const directory = mkdtempSync(join(tmpdir(), 'millpond-preflight-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const check = (options: Partial<DemoOptions>): Promise<void> =>
  preflight({ input: [], instances: 2, port: 0, once: false, ...options })

test('a text, standard input and a fresh data directory are fine', async () => {
  const text = join(directory, 'text')
  writeFileSync(text, 'to be')
  const dataDir = join(directory, 'data', 'deep')
  await check({ input: [text, '-'], dataDir })
  expect(existsSync(dataDir)).toBe(true)
})

test('an input that is not there is named', async () => {
  await expect(check({ input: ['/nowhere/text'] })).rejects.toThrow(
    'The input /nowhere/text does not exist.',
  )
})

test('an input that is a directory is named', async () => {
  await expect(check({ input: [directory] })).rejects.toThrow('is a directory')
})

test('a data directory that cannot be made is named', async () => {
  const file = join(directory, 'file')
  writeFileSync(file, 'x')
  const dataDir = join(file, 'data')
  await expect(check({ dataDir })).rejects.toThrow(
    `The data directory ${dataDir} cannot be written`,
  )
})

test('more instances than ports are named', async () => {
  await expect(check({ port: 65_535, instances: 2 })).rejects.toThrow(
    'The ports of the instances, 65535 to 65536, must be at most 65535. Give a lower --port.',
  )
})

test('a port in use is named before anything is written', async () => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const dataDir = join(directory, 'untouched')
  try {
    await expect(check({ port, instances: 2, dataDir })).rejects.toMatchObject({
      code: 'ADDRESS_IN_USE',
      context: { port },
    })
    expect(existsSync(dataDir)).toBe(false)
  } finally {
    await new Promise((resolve) => server.close(resolve))
  }
})

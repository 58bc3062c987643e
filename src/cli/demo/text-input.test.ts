import { execFileSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { namedInputs } from './text-input.ts'

const directory = mkdtempSync(join(tmpdir(), 'millpond-text-input-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

// Windows has no pipes in its file system.
const hasNamedPipes = { skip: process.platform === 'win32' }

function makePipe(name: string): string {
  const path = join(directory, name)
  execFileSync('mkfifo', [path])
  return path
}

test('a named pipe is read to its end', hasNamedPipes, async () => {
  const path = makePipe('to-its-end')
  const [input] = namedInputs([path])
  const stream = input?.open(0)
  // The stream is its reader, so that opening does not wait.
  const writer = openSync(path, 'w')
  writeSync(writer, 'to be')
  closeSync(writer)
  const chunks = await stream?.toArray()
  expect(Buffer.concat(chunks ?? []).toString()).toBe('to be')
  expect(input?.progressName).toBeUndefined()
})

test('a named pipe whose writer is silent can be let go', hasNamedPipes, async () => {
  const path = makePipe('silent')
  const [input] = namedInputs([path])
  const stream = input?.open(0)
  if (stream === undefined) throw new Error('there is one input')
  const writer = openSync(path, 'w')
  writeSync(writer, 'to be')
  const [chunk] = (await once(stream, 'data')) as [Buffer]
  expect(chunk.toString()).toBe('to be')
  const closed = once(stream, 'close')
  stream.destroy()
  await closed
  closeSync(writer)
})

/** Threads that end while their engine writes. They run what was built: `npm run build` first, as `npm test` does. */
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test } from 'vitest'

const program = fileURLToPath(new URL('open-transaction.js', import.meta.url))
const directory = mkdtempSync(join(tmpdir(), 'millpond-transaction-'))
const timeout = 60_000

afterAll(() => rmSync(directory, { recursive: true, force: true }))

interface End {
  /** Null: a signal ended it. */
  readonly code: number | null
  readonly out: string
}

/** Killed when it does not end by itself, which shows in what it says. */
function ended(deed: string): Promise<End> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, deed, join(directory, deed)],
      { timeout: timeout / 2, killSignal: 'SIGTERM' },
      (_error, out) => resolve({ code: child.exitCode, out: `${out}${child.signalCode ?? ''}` }),
    )
  })
}

test.each<[string, End]>([
  ['exit', { code: 0, out: 'the thread has ended\n' }],
  ['throw', { code: 0, out: 'it is bad\nthe thread has ended\n' }],
  ['terminate', { code: 0, out: 'the thread has ended\ngone\n' }],
  ['process', { code: 7, out: '' }],
  ['stuck', { code: null, out: 'lost\nSIGKILL' }],
])('a thread that writes to its state ends by %s', { timeout }, async (deed, expected) => {
  expect(await ended(deed)).toEqual(expected)
})

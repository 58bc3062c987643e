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

/** `code` null: it did not end, and was killed. */
function ended(deed: string): Promise<{ code: number | null; out: string }> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [program, deed, join(directory, deed)],
      { timeout: timeout / 2, killSignal: 'SIGKILL' },
      (_error, out) => resolve({ code: child.exitCode, out }),
    )
  })
}

test.each([
  ['exit', { code: 0, out: 'the thread has ended\n' }],
  ['throw', { code: 0, out: 'it is bad\nthe thread has ended\n' }],
  ['process', { code: 7, out: '' }],
])('a thread with an open transaction ends by %s', { timeout }, async (deed, expected) => {
  expect(await ended(deed)).toEqual(expected)
})

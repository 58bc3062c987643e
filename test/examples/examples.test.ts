/** The examples' own tests, as a user runs them. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const tests = readdirSync(`${root}examples`)
  .filter((name) => name.endsWith('.test.ts'))
  .map((name) => `examples/${name}`)

// Each test file is a process of its own, with its own compiler.
test('the tests of all examples pass', { timeout: 300_000 }, () => {
  const { stdout, status } = spawnSync(
    process.execPath,
    ['--import', 'tsx', '--test', '--test-reporter', 'tap', ...tests],
    { cwd: root, encoding: 'utf8' },
  )

  expect(stdout).toMatch(/^# fail 0$/m)
  expect(Number(/^# pass (\d+)$/m.exec(stdout)?.[1])).toBeGreaterThanOrEqual(tests.length)
  expect(status).toBe(0)
})

/** `npm run check`: types, lint, format, import table, examples in the docs. Runs all, then tells. */
import { spawnSync } from 'node:child_process'

const steps: readonly (readonly [title: string, command: string, ...args: string[]])[] = [
  ['types', 'tsc', '-p', '.'],
  ['lint', 'oxlint', '--type-aware', '--deny-warnings'],
  ['format', 'oxfmt', '--check'],
  ['import table', 'tsx', 'scripts/tidy.ts'],
  ['docstrings', 'tsx', 'scripts/docstrings.ts'],
  ['examples in the docs', 'tsx', 'scripts/docs-examples.ts'],
]

const failed: string[] = []
for (const [title, command, ...args] of steps) {
  console.log(`\n== ${title}`)
  const { status } = spawnSync(command, args, { stdio: 'inherit' })
  if (status !== 0) failed.push(title)
}

console.log(failed.length === 0 ? '\ncheck: all good' : `\ncheck: failed: ${failed.join(', ')}`)
process.exitCode = failed.length === 0 ? 0 : 1

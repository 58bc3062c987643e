/** `npm run bench`: every benchmark in a process of its own, one after the other, a JSON line each. */
import { spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const directory = fileURLToPath(new URL('.', import.meta.url))
const tsx = fileURLToPath(new URL('../node_modules/tsx/dist/cli.mjs', import.meta.url))
const wanted = process.argv.slice(2)

let failed = 0
for (const name of readdirSync(directory).filter(
  (file) => file.endsWith('.ts') && file !== 'run.ts',
)) {
  if (wanted.length > 0 && !wanted.includes(name.replace('.ts', ''))) continue
  const { status } = spawnSync(process.execPath, [tsx, `${directory}${name}`], { stdio: 'inherit' })
  if (status !== 0) {
    console.error(`bench/${name} failed`)
    failed += 1
  }
}
process.exitCode = failed === 0 ? 0 : 1

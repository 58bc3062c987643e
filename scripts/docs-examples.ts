/**
 * Compiles every `ts` code block of README.md and docs/ as a program of its own against the source
 * of the doors. A block that starts with `// fragment` is prose, not a program, and is left out.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(dirname(fileURLToPath(import.meta.url)), '..')
const target = join(root, '.cache', 'docs-examples')

function markdownBelow(path: string): string[] {
  if (statSync(path).isFile()) return path.endsWith('.md') ? [path] : []
  return readdirSync(path).flatMap((name) => markdownBelow(join(path, name)))
}

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })

let count = 0
for (const page of [join(root, 'README.md'), ...markdownBelow(join(root, 'docs'))]) {
  const blocks = readFileSync(page, 'utf8').matchAll(/^```ts\n([\s\S]*?)^```$/gm)
  for (const [index, block] of [...blocks].entries()) {
    const code = block[1] ?? ''
    if (code.startsWith('// fragment')) continue
    const name = `${relative(root, page).replaceAll(/[^a-zA-Z0-9]+/g, '-')}-${index + 1}.ts`
    writeFileSync(join(target, name), `${code}\nexport {}\n`)
    count += 1
  }
}

writeFileSync(
  join(target, 'tsconfig.json'),
  JSON.stringify({
    extends: '../../tsconfig.json',
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
    include: ['*.ts'],
  }),
)

const { status } = spawnSync('tsc', ['-p', join(target, 'tsconfig.json')], { stdio: 'inherit' })
if (count === 0) console.error('no example was found: the check itself is broken')
console.log(
  `examples in the docs: ${count} programs, ${status === 0 ? 'all compile' : 'see above'}`,
)
process.exitCode = status === 0 && count > 0 ? 0 : 1

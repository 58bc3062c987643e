/**
 * Compiles the programs of the documentation against the source of the doors: every `ts` block of
 * README.md and docs/ (doc-programs.ts says how blocks hang together), and every `@example` of what the
 * doors export. Prints what does not compile, with the page or file that it is from.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  directoryName,
  exampleTexts,
  pagePrograms,
  programPath,
  programText,
  writeProgram,
} from './doc-programs.ts'

const root = resolve(fileURLToPath(new URL('..', import.meta.url)))
const target = join(root, '.cache', 'docs-examples')

rmSync(target, { recursive: true, force: true })
mkdirSync(target, { recursive: true })

const programs = pagePrograms()
for (const program of programs) {
  writeProgram(join(target, programPath(program)), programText(program))
}
const examples = exampleTexts()
for (const [index, { file, text }] of examples.entries()) {
  writeProgram(join(target, directoryName(file), `example-${index}.ts`), text)
}

writeFileSync(
  join(target, 'tsconfig.json'),
  JSON.stringify({
    extends: '../../tsconfig.json',
    compilerOptions: { noUnusedLocals: false, noUnusedParameters: false },
    include: ['**/*.ts'],
  }),
)

const { status } = spawnSync('tsc', ['-p', join(target, 'tsconfig.json')], { stdio: 'inherit' })
const isEmpty = programs.length === 0 || examples.length === 0
if (isEmpty) console.error('no example was found: the check itself is broken')
console.log(
  `examples: ${programs.length} programs of pages, ${examples.length} of docstrings, ${status === 0 ? 'all compile' : 'see above'}`,
)
process.exitCode = status === 0 && !isEmpty ? 0 : 1

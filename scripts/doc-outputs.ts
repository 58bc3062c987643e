/**
 * What the programs of the documentation print: a `text` block behind a `ts` block shows it.
 *
 *     npx tsx scripts/doc-outputs.ts            tells where a page shows something else
 *     npx tsx scripts/doc-outputs.ts --write    puts what is printed into the pages
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import {
  pagePrograms,
  programPath,
  programText,
  writeProgram,
  type PageProgram,
} from './doc-programs.ts'

const root = resolve(fileURLToPath(new URL('..', import.meta.url)))
const target = join(root, '.cache', 'docs-outputs')
/** Stands in the output behind what a part of a program has printed. */
const mark = '\u0001'

/** What a page shows, and what its program prints. */
export interface DocOutput {
  readonly page: string
  /** Of the first line of what is shown, from 1. */
  readonly line: number
  readonly shown: string
  readonly printed: string
}

/** Runs all programs that have output to show, one after the other in one process. */
export function docOutputs(): DocOutput[] {
  const all = pagePrograms()
  const programs = all.filter(({ parts }) => parts.some(({ output }) => output))
  rmSync(target, { recursive: true, force: true })
  mkdirSync(target, { recursive: true })
  // Also those that print nothing: others may import them.
  for (const program of all) {
    const printMark = programs.includes(program) ? `\nprocess.stdout.write('${mark}')\n` : ''
    const text = programText(program, () => printMark)
    const quiet = text.replace("'node:test'", "'../../../test/docs/quiet-test.ts'")
    writeProgram(join(target, programPath(program)), quiet)
  }
  const imports = programs.map((program) => `await import('./${programPath(program)}')\n`)
  writeFileSync(join(target, 'all.ts'), `${imports.join('')}export {}\n`)
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    ['--import', 'tsx', join(target, 'all.ts')],
    { cwd: root, encoding: 'utf8' },
  )
  if (status !== 0) throw new Error(`a program of the documentation failed:\n${stdout}${stderr}`)
  return outputsOf(programs, stdout.split(mark))
}

function outputsOf(programs: readonly PageProgram[], printed: readonly string[]): DocOutput[] {
  const parts = programs.flatMap(({ page, parts }) => parts.map((part) => ({ page, ...part })))
  return parts.flatMap(({ page, output }, index) => {
    if (output === undefined) return []
    // console.log shows the end of what was printed before as an empty line.
    const text = (printed[index] ?? '').replace(/^\n/, '').trimEnd()
    return [{ page, line: output.line, shown: output.text.trimEnd(), printed: text }]
  })
}

function write(outputs: readonly DocOutput[]): void {
  for (const page of new Set(outputs.map((output) => output.page))) {
    const path = join(root, page)
    let text = readFileSync(path, 'utf8')
    // From the end, so that lines in front keep their numbers.
    for (const { line, printed } of outputs.filter((each) => each.page === page).reverse()) {
      const lines = text.split('\n')
      const end = lines.indexOf('```', line - 1)
      lines.splice(line - 1, end - (line - 1), ...printed.split('\n'))
      text = lines.join('\n')
    }
    writeFileSync(path, text)
  }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const different = docOutputs().filter(({ shown, printed }) => shown !== printed)
  if (process.argv.includes('--write')) write(different)
  for (const { page, line, printed } of different) console.log(`${page}:${line}\n${printed}\n`)
  console.log(`${different.length} outputs differ from what is shown`)
}

/**
 * The programs of the documentation: `ts` blocks of pages, and `@example` tags of what the doors
 * export. Each becomes a file of its own; what a program continues is around it.
 */
import { mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { doorExports, examplesOf, type DoorExport } from './door-exports.ts'

const root = resolve(fileURLToPath(new URL('..', import.meta.url)))

/** A fenced block of a page. */
export interface Block {
  readonly language: string
  readonly text: string
  /** Of the first line of the text, from 1. */
  readonly line: number
}

/** A program of a page: one `ts` block with imports, and those behind it that go on from there. */
export interface PageProgram {
  /** Path from the root of the project. */
  readonly page: string
  readonly parts: readonly ProgramPart[]
}

export interface ProgramPart {
  readonly code: Block
  /** The `text` block behind it, which shows what it prints; undefined: nothing is shown. */
  readonly output: Block | undefined
}

function markdownBelow(path: string): string[] {
  if (statSync(path).isFile()) return path.endsWith('.md') ? [path] : []
  return readdirSync(path).flatMap((name) => markdownBelow(join(path, name)))
}

function blocksOf(text: string): Block[] {
  return [...text.matchAll(/^```(\w*)\n([\s\S]*?)^```$/gm)].map((match) => ({
    language: match[1] ?? '',
    text: match[2] ?? '',
    line: text.slice(0, match.index).split('\n').length + 1,
  }))
}

const hasImports = ({ text }: Block): boolean => /^import /m.test(text)

/**
 * All programs of README.md and docs/. A block without imports goes on from the one before it, and may
 * use its names or give them another meaning. One that begins with `// fragment` is prose, and left out.
 */
export function pagePrograms(): PageProgram[] {
  const pages = [join(root, 'README.md'), ...markdownBelow(join(root, 'docs'))]
  return pages.flatMap((path) => {
    const page = relative(root, path)
    const blocks = blocksOf(readFileSync(path, 'utf8'))
    const programs: ProgramPart[][] = []
    for (const [index, code] of blocks.entries()) {
      if (code.language !== 'ts' || code.text.startsWith('// fragment')) continue
      const next = blocks[index + 1]
      const part = { code, output: next?.language === 'text' ? next : undefined }
      const current = programs.at(-1)
      if (hasImports(code) || current === undefined) programs.push([part])
      else current.push(part)
    }
    return programs.map((parts) => ({ page, parts }))
  })
}

/** The text of a program; `between` is put behind each part, told its number. */
export function programText(program: PageProgram, between = (_part: number): string => ''): string {
  const parts = program.parts.map(
    ({ code }, index) => `// ${program.page}:${code.line}\n${code.text}${between(index)}\n`,
  )
  // Each in a scope of its own: a later one may use a name again.
  return `${parts.join('{\n')}${'}\n'.repeat(parts.length - 1)}export {}\n`
}

/**
 * A path for the file of a program: the programs of a page are together in a directory, so that one
 * that begins with a line `// shop.ts` can be imported by the others of its page.
 */
export function programPath({ page, parts }: PageProgram): string {
  const [first] = parts
  const name = /^\/\/ ([\w-]+\.ts)\n/.exec(first?.code.text ?? '')?.[1]
  return join(directoryName(page), name ?? `line-${first?.code.line}.ts`)
}

/** A name for a directory of files that come from there. */
export function directoryName(of: string): string {
  return of.replaceAll(/[^a-zA-Z0-9]+/g, '-')
}

/** Writes a file, and makes its directory. */
export function writeProgram(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true })
  writeFileSync(path, text)
}

/** What examples may use without saying what it is: streams, or tables for the pages of tables. */
const namesForFile: Readonly<Record<string, string>> = {
  'src/dsl/ktable.ts': 'table-names',
  'src/dsl/kgrouped-table.ts': 'table-names',
  'src/testing/topology-test-driver.ts': 'topic-names',
  'src/testing/test-input-topic.ts': 'topic-names',
  'src/testing/test-output-topic.ts': 'topic-names',
}
const namesForOthers = 'stream-names'

/** The examples of what is exported, each with the imports and names that it may use. */
export function exampleTexts(): { readonly file: string; readonly text: string }[] {
  const exported = doorExports()
  const imports = importsOf(exported)
  const seen = new Set<ts.Node>()
  return exported.flatMap(({ file, declaration }) => {
    const documented = documentedNodes(declaration).filter((node) => !seen.has(node))
    for (const node of documented) seen.add(node)
    const names = namesForFile[file] ?? namesForOthers
    return documented.flatMap(examplesOf).map((example) => ({
      file,
      text: exampleText(example, `${imports}${importOfNames(names)}`),
    }))
  })
}

/** The declaration itself, and what is documented within it. */
function documentedNodes(declaration: ts.Node): ts.Node[] {
  const found: ts.Node[] = []
  const visit = (node: ts.Node): void => {
    if (ts.getJSDocTags(node).some((tag) => tag.tagName.text === 'example')) found.push(node)
    ts.forEachChild(node, visit)
  }
  visit(declaration)
  return found
}

function importsOf(exported: readonly DoorExport[]): string {
  const byDoor = new Map<string, Map<string, boolean>>()
  // A name that two doors export is the same in both.
  const seen = new Set<string>()
  for (const { door, name, isType } of exported) {
    if (seen.has(name)) continue
    seen.add(name)
    const names = byDoor.get(door) ?? new Map<string, boolean>()
    byDoor.set(door, names.set(name, isType))
  }
  return [...byDoor]
    .map(([door, names]) => {
      const list = [...names].map(([name, isType]) => (isType ? `type ${name}` : name))
      return `import { ${list.join(', ')} } from '${door}'\n`
    })
    .join('')
}

function importOfNames(module: string): string {
  const text = readFileSync(join(root, 'test', 'docs', `${module}.ts`), 'utf8')
  const names = [...text.matchAll(/^export (declare const|interface|type) (\w+)/gm)].map(
    ([, kind, name]) => (kind === 'declare const' ? name : `type ${name}`),
  )
  return `import { ${names.join(', ')} } from '../../../test/docs/${module}.ts'\n`
}

/** An example that imports something imports all that it needs. */
function exampleText(example: string, imports: string): string {
  if (/^import /m.test(example)) return `${example}\nexport {}\n`
  return `${imports}export async function example() {\n${example}\n}\n`
}

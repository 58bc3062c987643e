import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { afterAll, expect, test } from 'vitest'
import { MillpondProcess, type ProgramResult } from './demo-process.ts'

const directory = mkdtempSync(join(tmpdir(), 'millpond-describe-'))
afterAll(() => rmSync(directory, { recursive: true, force: true }))

const millpond = pathToFileURL(fileURLToPath(new URL('../../dist/index.js', import.meta.url))).href

/** A module that makes a builder, and ends with these lines. */
function moduleOf(name: string, ...lines: readonly string[]): string {
  const file = join(directory, name)
  const program = [
    `import { StreamsBuilder, serdes, topic } from '${millpond}'`,
    `const lines = topic('lines', { key: serdes.string, value: serdes.string })`,
    'const builder = new StreamsBuilder()',
    `builder.stream(lines).to(topic('out', { key: serdes.string, value: serdes.string }))`,
    ...lines,
  ]
  writeFileSync(file, program.join('\n'))
  return file
}

async function describe(...args: readonly string[]): Promise<ProgramResult> {
  await using program = new MillpondProcess('describe', ...args)
  return await program.result
}

const text = `Topologies:
   Sub-topology: 0
    Source: KSTREAM-SOURCE-0000000000 (topics: [lines])
      --> KSTREAM-SINK-0000000001
    Sink: KSTREAM-SINK-0000000001 (topic: out)
      <-- KSTREAM-SOURCE-0000000000
`

test.each([
  ['a topology as default', 'export default builder.build()'],
  ['a builder as default', 'export default builder'],
  ['a topology by its name', 'export const topology = builder.build()'],
  ['a builder by that name', 'export { builder as topology }'],
  ['exports within the default', 'export default { topology: builder }'],
])('%s is described as Java does it', async (_name, line) => {
  expect(await describe(moduleOf('program.mjs', line))).toEqual({
    code: 0,
    stdout: text,
    stderr: '',
  })
})

test('as JSON and as a flowchart', async () => {
  const file = moduleOf('formats.mjs', 'export default builder')

  expect(JSON.parse((await describe(file, '--format', 'json')).stdout)).toMatchObject({
    subtopologies: [{ id: 0 }],
  })
  expect((await describe('--format', 'mermaid', file)).stdout).toMatch(/^flowchart /)
})

test('what is wrong is told in a line', async () => {
  const empty = moduleOf('empty.mjs', 'export const other = builder')
  expect(await describe(empty)).toEqual({
    code: 1,
    stdout: '',
    stderr: `millpond: ${empty} exports no topology: it needs a topology or a builder as default or as \`topology\`.\n`,
  })

  const wrong = moduleOf('wrong.mjs', `builder.stream(lines).to('')`, 'export default builder')
  const refused = await describe(wrong)
  expect(refused).toMatchObject({ code: 1, stdout: '' })
  expect(refused.stderr).toMatch(
    /^millpond: .+wrong\.mjs cannot be loaded: Invalid topology: .+\n$/,
  )

  const missing = join(directory, 'missing.mjs')
  expect((await describe(missing)).stderr).toBe(`millpond: There is no file ${missing}.\n`)
})

test('a format that there is not is wrong usage', async () => {
  const { code, stderr } = await describe('program.mjs', '--format', 'xml')
  expect(code).toBe(2)
  expect(stderr).toContain('Allowed choices are text, json, mermaid')
})

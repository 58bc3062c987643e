import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'
import { configOptions, resolveConfig } from '../../src/config.ts'

const page = readFileSync(new URL('../../docs/reference/config.md', import.meta.url), 'utf8')
const [ofStreams = ''] = page.split('## Options of `serve`')

/** Options of KafkaStreams, each with what the page says is its default. */
const listed = new Map(
  [...ofStreams.matchAll(/^\| `(\w+)` +\| (.+?) +\|/gm)].map(([, name = '', text = '']) => [
    name,
    text.replaceAll('`', ''),
  ]),
)

function shownDefault(name: string): string {
  if (name === 'applicationId' || name === 'brokers') return 'required'
  if (name === 'logger') return "'warn'"
  const resolved = resolveConfig({ applicationId: 'a', brokers: ['b:1'] })
  if (name === 'stateDir') return resolved.stateDir.replace(tmpdir(), '<tmpdir>')
  if (name === 'engine') return resolved.engine.name
  const value = { ...(resolved as unknown as Record<string, unknown>) }[name]
  return value === undefined ? 'none' : JSON.stringify(value).replaceAll('"', "'")
}

test('the page docs/reference/config.md lists every option', () => {
  expect([...listed.keys()].sort()).toEqual([...configOptions].sort())
})

test('the page docs/reference/config.md shows the defaults of the code', () => {
  const defaults = Object.fromEntries(configOptions.map((name) => [name, shownDefault(name)]))

  expect(Object.fromEntries(listed)).toEqual(defaults)
})

/** Java's name on the page for each option that is not one of several in Java's place. */
const javaNames = [
  ...ofStreams.matchAll(/^\| `(\w+)` .*\| `([a-z]+(?:\.[a-z]+)+)`[^|]*\|$/gm),
].flatMap(([, name = '', java = '']) =>
  java === 'security.protocol' ? [] : [[java, name] as const],
)

test.each(javaNames)("Java's %s is refused with the option of that meaning, %s", (java, name) => {
  const config = { applicationId: 'a', brokers: ['b:1'], [java]: 1 }
  expect(() => resolveConfig(config)).toThrow(`did you mean '${name}'?`)
})

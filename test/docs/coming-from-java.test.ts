/** The page for those who know Kafka Streams has an answer for all that they may look for. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'

const listed = readFileSync(new URL('java-methods.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.replace(' deprecated', ''))
const page = readFileSync(new URL('../../docs/coming-from-java.md', import.meta.url), 'utf8')

const classes = new Set(
  listed.filter((line) => !line.includes(' ')).map((line) => line.split('#')[0] ?? ''),
)

/** The class that a text begins with, as long as it goes, and what is behind it. */
function classAndRest(text: string): [className: string, rest: string] | undefined {
  const parts = text.split('.')
  for (let end = parts.length; end > 0; end -= 1) {
    const name = parts.slice(0, end).join('.')
    if (classes.has(name)) return [name, parts.slice(end).join('.')]
  }
  return undefined
}

/** Lines of the list that a row answers. A method belongs to the class that was named last. */
function answersOf(cell: string, heading: string | undefined): string[] {
  let owner = heading
  return [...cell.matchAll(/`([^`]+)`/g)].flatMap(([, code = '']) => {
    const isNew = code.startsWith('new ')
    const name = code.replace(/^new /, '').replace(/\(.*$/, '')
    const found = classAndRest(name)
    if (found === undefined) return [`${owner}#${name}`]
    const [className, rest] = found
    owner = className
    if (isNew) return [`${className}#new`]
    if (rest !== '') return [`${className}#${rest}`]
    // An exception, or a method that is called as a class within its own: `Serdes.ListSerde`.
    return [className, className.replace(/\.(\w+)$/, '#$1')].filter((line) => listed.includes(line))
  })
}

/** All that the tables of the page answer. */
function answers(): string[] {
  const found: string[] = []
  let heading: string | undefined
  let kind: 'methods' | 'keys' | 'none' = 'none'
  for (const line of page.split('\n')) {
    const title = /^### `(\w+)`/.exec(line)
    if (line.startsWith('#')) heading = title?.[1]
    const [first] = line.startsWith('|') ? line.slice(1).split(/(?<!\\)\|/) : []
    if (first === undefined) kind = 'none'
    else if (/^ Java +$/.test(first)) kind = 'methods'
    else if (/^ StreamsConfig +$/.test(first)) kind = 'keys'
    else if (kind === 'methods') found.push(...answersOf(first, heading))
    else if (kind === 'keys') {
      found.push(...[...first.matchAll(/`([^`]+)`/g)].map(([, key]) => `StreamsConfig ${key}`))
    }
  }
  return found
}

test('every public method and every key of Kafka Streams has a row in the page', () => {
  const given = new Set(answers())

  expect(listed.length).toBeGreaterThan(1_000)
  expect(listed.filter((line) => !given.has(line))).toEqual([])
})

test('the page has rows for nothing that Kafka Streams does not have', () => {
  const known = new Set([...listed, ...classes])

  expect(answers().filter((line) => !known.has(line))).toEqual([])
})

test('every row says something', () => {
  const rows = page.split('\n').filter((line) => line.startsWith('| `'))

  expect(rows.filter((row) => /\| +\|$/.test(row))).toEqual([])
})

import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { doorExports } from '../../scripts/door-exports.ts'

const page = readFileSync(new URL('../../docs/reference/stores.md', import.meta.url), 'utf8')
const interfaces = new Map(
  doorExports()
    .map(({ name, declaration }) => [name, declaration] as const)
    .filter((each): each is [string, ts.InterfaceDeclaration] =>
      ts.isInterfaceDeclaration(each[1]),
    ),
)

/** Names of what an interface has, with those that it extends. */
function membersOf(name: string, kind: 'methods' | 'options'): string[] {
  const declaration = interfaces.get(name)
  if (declaration === undefined) return []
  const own = declaration.members
    .filter((member) => ts.isMethodSignature(member) === (kind === 'methods'))
    .map((member) => member.name?.getText() ?? '')
  const inherited = (declaration.heritageClauses ?? [])
    .flatMap(({ types }) => types)
    .flatMap(({ expression }) => membersOf(expression.getText(), kind))
  return [...own, ...inherited]
}

/** The first code of each row of a section. */
function rowsOf(section: string): string[] {
  const text = page.split(`# ${section}\n`)[1]?.split(/^#/m)[0] ?? ''
  return [...text.matchAll(/^\| ((?:`\w+[^`]*`(?:, )?)+)/gm)].flatMap(([, cell = '']) =>
    [...cell.matchAll(/`(\w+)/g)].map(([, name = '']) => name),
  )
}

test.each([
  'KeyValueStore',
  'TimestampedKeyValueStore',
  'WindowStore',
  'TimestampedWindowStore',
  'SessionStore',
  'VersionedStore',
  'QueryableKeyValueStore',
  'QueryableWindowStore',
  'QueryableSessionStore',
  'QueryableVersionedStore',
])('the page docs/reference/stores.md lists the methods of %s', (name) => {
  expect(rowsOf(`\`${name}\``).sort()).toEqual(membersOf(name, 'methods').sort())
  expect(rowsOf(`\`${name}\``)).not.toEqual([])
})

test('the page docs/reference/stores.md lists the options of descriptors', () => {
  const options = [
    'StoreOptions',
    'WindowStoreOptions',
    'SessionStoreOptions',
    'VersionedStoreOptions',
  ].flatMap((name) => membersOf(name, 'options'))

  expect(rowsOf('Descriptors').sort()).toEqual(['key', 'value', ...new Set(options)].sort())
})

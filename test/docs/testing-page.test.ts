import { readFileSync } from 'node:fs'
import ts from 'typescript'
import { expect, test } from 'vitest'
import { doorExports } from '../../scripts/door-exports.ts'

const page = readFileSync(new URL('../../docs/guides/testing.md', import.meta.url), 'utf8')

test('the page docs/guides/testing.md lists the options of the test driver', () => {
  const found = doorExports().find(({ name }) => name === 'TopologyTestDriverOptions')
  const options =
    found !== undefined && ts.isInterfaceDeclaration(found.declaration)
      ? found.declaration.members.map((member) => member.name?.getText() ?? '')
      : []
  const [, section = ''] = page.split('## Options\n')
  const listed = [...section.matchAll(/^\| `(\w+)`/gm)].map(([, name = '']) => name)

  expect(options).not.toEqual([])
  expect(listed.sort()).toEqual(options.sort())
})

/**
 * Holds the docstrings of what the doors export: every name has one, and so has every method and
 * getter; functions, classes and the methods of the language have an example as well, which
 * docs-examples.ts compiles. Prints each breach and exits 1.
 */
import ts from 'typescript'
import { docstringOf, doorExports, examplesOf, isInternal } from './door-exports.ts'

/** The language: what programs are written with. */
const shownByExample = new Set([
  'StreamsBuilder',
  'TopologyBuilder',
  'KStream',
  'StreamJoins',
  'KTable',
  'KGroupedStream',
  'KGroupedTable',
  'WindowedKStream',
  'TimeWindowedKStream',
  'SessionWindowedKStream',
  'CogroupedKStream',
  'TimeWindowedCogroupedKStream',
  'SessionWindowedCogroupedKStream',
])
/** Shown by the example of its class, and by every program. */
const shownElsewhere = new Set(['build', 'describe'])

const breaches = new Set<string>()

/** All declarations of one name: the docstring of an overload is that of all. */
function check(what: string, declarations: readonly ts.Node[], needsExample: boolean): void {
  if (declarations.every((each) => docstringOf(each) === '')) breaches.add(`${what}: no docstring`)
  else if (needsExample && declarations.every((each) => examplesOf(each).length === 0)) {
    breaches.add(`${what}: no example`)
  }
}

function isCalled(member: ts.Node): boolean {
  return ts.isMethodSignature(member) || ts.isMethodDeclaration(member) || ts.isGetAccessor(member)
}

function isHidden(member: ts.Node): boolean {
  const modifiers = ts.canHaveModifiers(member) ? (ts.getModifiers(member) ?? []) : []
  return modifiers.some(
    ({ kind }) => kind === ts.SyntaxKind.ProtectedKeyword || kind === ts.SyntaxKind.PrivateKeyword,
  )
}

function grouped<T extends ts.Node>(
  nodes: readonly T[],
  nameOf: (node: T) => string | undefined,
): Map<string, T[]> {
  const groups = new Map<string, T[]>()
  for (const node of nodes) {
    const name = nameOf(node)
    if (name !== undefined) groups.set(name, [...(groups.get(name) ?? []), node])
  }
  return groups
}

function checkMembers(owner: string, declaration: ts.Node): void {
  if (!ts.isInterfaceDeclaration(declaration) && !ts.isClassDeclaration(declaration)) return
  const members: ts.Node[] = [...declaration.members].filter(
    (member) => isCalled(member) && !isInternal(member) && !isHidden(member),
  )
  const named = grouped(members, (member) => {
    const { name } = member as ts.NamedDeclaration
    return name !== undefined && ts.isIdentifier(name) ? name.text : undefined
  })
  for (const [name, group] of named) {
    const needsExample = shownByExample.has(owner) && !shownElsewhere.has(name)
    check(`${owner}.${name}`, group, needsExample)
  }
}

const exported = doorExports()
const byName = new Map<string, typeof exported>()
for (const each of exported) {
  const id = `${each.door} ${each.name}`
  byName.set(id, [...(byName.get(id) ?? []), each])
}
for (const [id, found] of byName) {
  check(
    id,
    found.map(({ declaration }) => declaration),
    found.some(({ isType }) => !isType),
  )
  for (const { name, declaration } of found) checkMembers(name, declaration)
}

if (byName.size === 0) breaches.add('nothing is exported: the check itself is broken')
for (const breach of breaches) console.error(breach)
console.log(`docstrings: ${byName.size} names, ${breaches.size} breaches`)
process.exitCode = breaches.size === 0 ? 0 : 1

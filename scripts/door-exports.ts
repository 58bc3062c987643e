/** What the package exports, with the declarations behind it, read without a type checker. */
import { readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = resolve(fileURLToPath(new URL('..', import.meta.url)))

/** The doors, by the name under which they are imported. */
export const doors: Readonly<Record<string, string>> = Object.fromEntries(
  Object.keys(exportsOfPackage())
    .filter((entry) => !entry.endsWith('.json'))
    .map((entry) => {
      const folder = entry.slice(1)
      return [`millpond${folder}`, join(root, 'src', folder, 'index.ts')]
    }),
)

function exportsOfPackage(): object {
  const text = readFileSync(join(root, 'package.json'), 'utf8')
  return (JSON.parse(text) as { exports: object }).exports
}

/** One name that a door exports, and one of its declarations: there may be several of a function. */
export interface DoorExport {
  readonly door: string
  readonly name: string
  /** Only a type: it cannot be called, and needs `import type`. */
  readonly isType: boolean
  /** Path from the root of the project. */
  readonly file: string
  readonly declaration: ts.Node
}

const parsed = new Map<string, ts.SourceFile>()

function sourceOf(path: string): ts.SourceFile {
  let source = parsed.get(path)
  if (source === undefined) {
    source = ts.createSourceFile(path, readFileSync(path, 'utf8'), ts.ScriptTarget.ESNext, true)
    parsed.set(path, source)
  }
  return source
}

/** All that is exported, door by door. */
export function doorExports(): DoorExport[] {
  return Object.entries(doors).flatMap(([door, path]) =>
    exportsOf(path).map((found) => ({ door, ...found })),
  )
}

type Found = Omit<DoorExport, 'door'>

function exportsOf(path: string): Found[] {
  return sourceOf(path).statements.flatMap((statement): Found[] => {
    if (ts.isExportDeclaration(statement)) return reexports(path, statement)
    return isExported(statement) ? declarations(path, statement) : []
  })
}

function reexports(path: string, statement: ts.ExportDeclaration): Found[] {
  const { exportClause, moduleSpecifier } = statement
  if (exportClause === undefined || !ts.isNamedExports(exportClause)) return []
  if (moduleSpecifier === undefined || !ts.isStringLiteral(moduleSpecifier)) return []
  const from = resolve(dirname(path), moduleSpecifier.text)
  const all = exportsOf(from)
  return exportClause.elements.flatMap(({ name, propertyName, isTypeOnly }) => {
    const wanted = (propertyName ?? name).text
    const found = all.filter((each) => each.name === wanted)
    if (found.length === 0) throw new Error(`${relative(root, from)} has no ${wanted}`)
    const asType = isTypeOnly || statement.isTypeOnly
    return found.map((each) => ({ ...each, name: name.text, isType: each.isType || asType }))
  })
}

function isExported(statement: ts.Statement): boolean {
  if (!ts.canHaveModifiers(statement)) return false
  const modifiers = ts.getModifiers(statement) ?? []
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword)
}

function declarations(path: string, statement: ts.Statement): Found[] {
  const file = relative(root, path)
  if (ts.isVariableStatement(statement)) {
    return statement.declarationList.declarations.map((declaration) => ({
      name: declaration.name.getText(),
      isType: false,
      file,
      declaration,
    }))
  }
  const named = statement as ts.Statement & { readonly name?: ts.Identifier }
  if (named.name === undefined) return []
  const isType = ts.isInterfaceDeclaration(statement) || ts.isTypeAliasDeclaration(statement)
  return [{ name: named.name.text, isType, file, declaration: statement }]
}

/** The text of the comment in front of a declaration; empty when there is none. */
export function docstringOf(node: ts.Node): string {
  return ts
    .getJSDocCommentsAndTags(node)
    .filter((each) => ts.isJSDoc(each))
    .map((each) => ts.getTextOfJSDocComment(each.comment) ?? '')
    .join('\n')
}

/** The programs of the `@example` tags in front of a declaration. */
export function examplesOf(node: ts.Node): string[] {
  return ts
    .getJSDocTags(node)
    .filter((tag) => tag.tagName.text === 'example')
    .map((tag) => ts.getTextOfJSDocComment(tag.comment) ?? '')
}

/** True for what is marked as not for users. */
export function isInternal(node: ts.Node): boolean {
  return ts.getJSDocTags(node).some((tag) => tag.tagName.text === 'internal')
}

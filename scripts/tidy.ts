/**
 * Holds the import table of docs/internals/architecture.md: imports go down, to a file; time,
 * chance, sockets and files come from the ports in base/. Prints each breach and exits 1.
 */
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'

const layerOf: Readonly<Record<string, number>> = {
  base: 0,
  'errors.ts': 0,
  'error-handlers.ts': 0,
  kv: 1,
  serde: 1,
  protocol: 1,
  metrics: 1,
  store: 2,
  client: 2,
  processor: 3,
  topology: 4,
  dsl: 5,
  task: 5,
  group: 5,
  'config.ts': 5,
  runtime: 6,
  query: 6,
  threads: 7,
  'kafka-streams.ts': 8,
  'index.ts': 9,
  cli: 9,
  server: 9,
  testing: 9,
  'schema-registry': 9,
  rocksdb: 9,
}

/** Folders outside the layers, with the only places that they may import from. */
const islands: Readonly<Record<string, readonly string[]>> = {
  broker: ['protocol', 'base', 'errors.ts'],
  dashboard: [],
}

/** Which layer 9 folders may see a sibling of their own layer. */
const siblings: Readonly<Record<string, readonly string[]>> = {
  cli: ['server', 'broker', 'index.ts'],
  server: ['index.ts'],
  testing: [],
  'schema-registry': [],
  rocksdb: [],
}

const vagueNames = new Set([
  'utils.ts',
  'util.ts',
  'types.ts',
  'helpers.ts',
  'common.ts',
  'misc.ts',
])

/** What only base/ (and the command line, which is the edge of the world) may touch. */
const worldModules = new Set(['node:fs', 'node:fs/promises', 'node:net', 'node:tls', 'node:crypto'])
const worldGlobals =
  /\b(?:Date\.now|Math\.random|performance\.now|new Date)\(|\b(?:setTimeout|setInterval|setImmediate)\(/

const root = resolve(import.meta.dirname ?? dirname(new URL(import.meta.url).pathname), '..')
const source = join(root, 'src')
const breaches: string[] = []

function filesBelow(directory: string): string[] {
  return readdirSync(directory)
    .map((name) => join(directory, name))
    .flatMap((path) => (statSync(path).isDirectory() ? filesBelow(path) : [path]))
    .filter((path) => path.endsWith('.ts'))
}

/** The folder (or root file) that decides the layer of a file below src/. */
function areaOf(path: string): string {
  return relative(source, path).split('/')[0] ?? ''
}

function importsOf(text: string): { target: string; typeOnly: boolean }[] {
  const pattern =
    /^(?:import|export)\s+(type\s)?[^'"]*?\bfrom\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gm
  return [...text.matchAll(pattern)].map((match) => ({
    target: match[2] ?? match[3] ?? match[4] ?? '',
    typeOnly: match[1] !== undefined,
  }))
}

function checkImport(file: string, target: string, typeOnly: boolean): void {
  const place = relative(root, file)
  const area = areaOf(file)
  if (!target.startsWith('.')) {
    if (!typeOnly && worldModules.has(target) && area !== 'base' && area !== 'cli') {
      breaches.push(`${place}: imports ${target}; use a port of src/base/`)
    }
    return
  }
  const path = resolve(dirname(file), target)
  if (!target.endsWith('.ts') || !existsSync(path)) {
    breaches.push(`${place}: '${target}' is not a file; import the file itself, with its ending`)
    return
  }
  const targetArea = areaOf(path)
  if (area === targetArea) return
  const allowed = islands[area]
  if (allowed !== undefined) {
    if (!allowed.includes(targetArea))
      breaches.push(`${place}: ${area} may not import ${targetArea}`)
    return
  }
  const from = layerOf[area]
  if (from === undefined) {
    breaches.push(`${place}: ${area} is not in the import table`)
    return
  }
  const to = islands[targetArea] === undefined ? layerOf[targetArea] : 8
  if (to === undefined || to > from || (to === from && !isSibling(area, targetArea))) {
    breaches.push(
      `${place}: layer ${from} (${area}) may not import layer ${to ?? '?'} (${targetArea})`,
    )
  }
}

function isSibling(area: string, target: string): boolean {
  if (layerOf[area] === 0) return true
  if (area === 'index.ts') return true
  return siblings[area]?.includes(target) ?? false
}

let moduleCount = 0
for (const file of filesBelow(source)) {
  const name = file.slice(file.lastIndexOf('/') + 1)
  const place = relative(root, file)
  if (vagueNames.has(name)) breaches.push(`${place}: a file is named after the noun it exports`)
  if (!/^(?:\d+-)?[a-z0-9]+(?:-[a-z0-9]+)*(?:\.[a-z0-9-]+)?(?:\.test)?\.ts$/.test(name)) {
    breaches.push(`${place}: file names are kebab-case`)
  }
  if (name.endsWith('.test.ts')) continue
  moduleCount += 1
  const text = readFileSync(file, 'utf8')
  for (const { target, typeOnly } of importsOf(text)) checkImport(file, target, typeOnly)
  if (areaOf(file) !== 'base' && areaOf(file) !== 'cli') {
    text.split('\n').forEach((line, index) => {
      if (worldGlobals.test(line) && !/^\s*(?:\*|\/\/)/.test(line)) {
        breaches.push(`${place}:${index + 1}: time and chance come from the ports of src/base/`)
      }
    })
  }
}

if (moduleCount === 0) breaches.push('no module was read: the check itself is broken')
for (const breach of breaches) console.error(breach)
console.log(`import table: ${moduleCount} modules, ${breaches.length} breaches`)
process.exitCode = breaches.length === 0 ? 0 : 1

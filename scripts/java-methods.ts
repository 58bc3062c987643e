/**
 * Writes test/docs/java-methods.txt: what Kafka Streams has for its users, read from its class files
 * with `javap`. `docs/coming-from-java.md` has an answer for each line, which a test holds. To be run
 * again for a new version of Kafka Streams, after `npm run conformance` has fetched it.
 *
 *     KStream#join                      a method, whatever its overloads; `new` is a constructor
 *     KStream#through deprecated        all of its overloads are
 *     LockException                     an exception: nothing of it is called
 *     StreamsConfig application.id      a key of the configuration, as the class itself lists them
 */
import { spawnSync } from 'node:child_process'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(fileURLToPath(new URL('..', import.meta.url)))
const cache = join(root, '.cache', 'conformance')
const target = join(root, 'test', 'docs', 'java-methods.txt')

/** The packages for users; what is below them is not. */
const packages = [
  'org.apache.kafka.streams',
  'org.apache.kafka.streams.errors',
  'org.apache.kafka.streams.kstream',
  'org.apache.kafka.streams.processor',
  'org.apache.kafka.streams.processor.api',
  'org.apache.kafka.streams.processor.assignment',
  'org.apache.kafka.streams.processor.assignment.assignors',
  'org.apache.kafka.streams.query',
  'org.apache.kafka.streams.state',
  'org.apache.kafka.streams.test',
]
/** Of the clients, only the serdes. */
const serdes = ['org.apache.kafka.common.serialization.Serdes']
/** What every object has. */
const ofAllObjects = new Set(['equals', 'hashCode', 'toString', 'values', 'valueOf', 'compareTo'])

function jarsOf(library: string): string[] {
  return readdirSync(library)
    .filter((name) => /^kafka-(?:streams|streams-test-utils|clients)-\d/.test(name))
    .map((name) => join(library, name))
    .sort()
}

/** The newest directory with the jars of Kafka Streams. */
function findLibrary(): string {
  const found = readdirSync(cache)
    .filter((name) => name.startsWith('lib-') && !name.includes('.'))
    .map((name) => join(cache, name))
    .sort((one, two) => statSync(two).mtimeMs - statSync(one).mtimeMs)
  const [newest] = found
  if (newest === undefined) throw new Error('no Kafka Streams is here: `npm run conformance` first')
  return newest
}

function run(program: string, ...options: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, options, {
    encoding: 'utf8',
    maxBuffer: 2 ** 28,
  })
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`)
  return stdout
}

function classesIn(jar: string): string[] {
  return run('jar', '--list', '--file', jar)
    .split('\n')
    .filter((path) => path.endsWith('.class') && !/\$\d/.test(path))
    .map((path) => path.slice(0, -'.class'.length).replaceAll('/', '.'))
    .filter((name) => {
      const [outer = ''] = name.split('$')
      return packages.includes(name.slice(0, name.lastIndexOf('.'))) || serdes.includes(outer)
    })
}

interface Member {
  /** False for a method of which some overload is not. */
  deprecated: boolean
}

/** The lines of one class, from what `javap -v -public` prints of it. */
function linesOf(className: string, text: string): string[] {
  const shortName = className.slice(className.lastIndexOf('.') + 1).replaceAll('$', '.')
  const header = /^(?:[a-z-]+ )*(?:class|interface|enum|record) .*$/m.exec(text)?.[0]
  if (header === undefined || !header.startsWith('public ')) return []
  if (shortName.endsWith('InternalConfig')) return []
  if (/(?:Exception|Error)$/.test(shortName) && header.includes(' class ')) return [shortName]
  const members = new Map<string, Member>()
  const lines: string[] = []
  // Each member: its declaration, indented by two, then what is said of it, indented by more.
  for (const [, declaration = '', details = ''] of text.matchAll(
    /^ {2}(public [^\n]*;)\n((?: {4}.*\n|\n(?= {4}))*)/gm,
  )) {
    const isSynthetic = /flags: .*ACC_SYNTHETIC/.test(details)
    const called = /([\w.$]+)\(/.exec(declaration)?.[1]
    if (called === undefined || isSynthetic) continue
    const name = called.includes('.') ? 'new' : called
    if (ofAllObjects.has(name)) continue
    const deprecated = details.includes('Deprecated: true')
    const known = members.get(name)
    if (known === undefined) members.set(name, { deprecated })
    else known.deprecated &&= deprecated
  }
  for (const [name, { deprecated }] of members) {
    lines.push(`${shortName}#${name}${deprecated ? ' deprecated' : ''}`)
  }
  return lines
}

/** Kafka Streams prints a page of them, for its own documentation. */
function configKeys(library: string): string[] {
  const page = run('java', '-cp', join(library, '*'), 'org.apache.kafka.streams.StreamsConfig')
  return [...page.matchAll(/<h4><a id="([^"]+)"/g)].map(([, key]) => `StreamsConfig ${key}`)
}

const library = findLibrary()
const jars = jarsOf(library)
const found = new Set(configKeys(library))
for (const jar of jars) {
  const classes = classesIn(jar)
  if (classes.length === 0) continue
  const text = run('javap', '-v', '-public', '-cp', jars.join(':'), ...classes)
  const parts = text.split(/^Classfile .*$/m).slice(1)
  for (const [index, part] of parts.entries()) {
    for (const line of linesOf(classes[index] ?? '', part)) found.add(line)
  }
}
const lines = [...found].sort((one, two) => (one < two ? -1 : 1))
writeFileSync(target, `${lines.join('\n')}\n`)
console.log(`${lines.length} lines, from ${jars.length} jars`)

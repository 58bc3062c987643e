import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process'
import { createHash, type Hash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { CaseResult, ConformanceCase } from '../../test/conformance/case.ts'

const root = resolve(fileURLToPath(new URL('../..', import.meta.url)))
const project = join(root, 'conformance', 'java')
const cache = join(root, '.cache', 'conformance')
/** Short runs: a small heap, and no time lost on compiling well what runs once. */
const jvmOptions = ['-Xmx1g', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']

/** What Java answers: a result, or that the case says what nobody can run. */
type Answer = CaseResult & { readonly invalid?: string }

/** What is missing on this machine for Kafka Streams, in one sentence; undefined when all is there. */
export function oracleUnavailable(): string | undefined {
  for (const [program, argument] of [
    ['java', '-version'],
    ['mvn', '-v'],
  ] as const) {
    if (spawnSync(program, [argument], { stdio: 'ignore' }).status !== 0) {
      return `Comparing with Kafka Streams needs Java 17 and Maven, and there is no \`${program}\` here.`
    }
  }
  return undefined
}

/**
 * Compiles conformance/java unless it is there as it stands; the class path. Directories are named by
 * what they are made from, so that a run is not disturbed by another one that builds. Throws an Error
 * with Maven's own words.
 */
function build(): string {
  const pom = join(project, 'pom.xml')
  const hash = createHash('sha256').update(readFileSync(pom))
  const library = join(cache, `lib-${shortDigest(hash)}`)
  const sources = readdirSync(join(project, 'src'), { recursive: true, encoding: 'utf8' }).sort()
  for (const path of sources.filter((name) => name.endsWith('.java'))) {
    hash.update(path).update(readFileSync(join(project, 'src', path)))
  }
  const output = join(cache, `output-${shortDigest(hash)}`)
  makeDirectory(library, (partial) =>
    maven(pom, 'dependency:copy-dependencies', `-DoutputDirectory=${partial}`),
  )
  makeDirectory(output, (partial) => maven(pom, 'compile', `-Doutput=${partial}`))
  return `${join(output, 'classes')}:${join(library, '*')}`
}

function shortDigest(hash: Hash): string {
  return hash.copy().digest('hex').slice(0, 12)
}

/** Makes a directory that is there as a whole or not at all. */
function makeDirectory(path: string, make: (partial: string) => void): void {
  if (existsSync(path)) return
  const partial = `${path}.${process.pid}`
  mkdirSync(partial, { recursive: true })
  try {
    make(partial)
    if (!existsSync(path)) renameSync(partial, path)
  } finally {
    rmSync(partial, { recursive: true, force: true })
  }
}

function maven(pom: string, ...goal: readonly string[]): void {
  const { status, stdout } = spawnSync('mvn', ['-q', '-B', '-f', pom, ...goal], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`Maven could not build conformance/java:\n${stdout.trim()}`)
}

/** Kafka Streams in a process of its own that runs one case after the other. */
export class JavaOracle implements AsyncDisposable {
  readonly #process: ChildProcessByStdio<Writable, Readable, null>
  readonly #waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void }[] = []
  readonly #exited: Promise<void>

  private constructor(child: ChildProcessByStdio<Writable, Readable, null>) {
    this.#process = child
    createInterface({ input: child.stdout }).on('line', (line) => {
      this.#waiting.shift()?.resolve(JSON.parse(line) as Answer)
    })
    // A process that is gone takes no more input; its exit tells why.
    child.stdin.on('error', () => undefined)
    this.#exited = new Promise((done) => {
      child.on('close', (code) => {
        const error = new Error(`Kafka Streams' process ended with code ${code}.`)
        for (const { reject } of this.#waiting.splice(0)) reject(error)
        done()
      })
    })
  }

  static start(): JavaOracle {
    const command = [...jvmOptions, '-cp', build(), 'millpond.conformance.Main']
    return new JavaOracle(spawn('java', command, { stdio: ['pipe', 'pipe', 'inherit'] }))
  }

  /** What Kafka Streams makes of a case; rejects when the case says what nobody can run. */
  async run({ config, topology, script, name }: ConformanceCase): Promise<CaseResult> {
    const { invalid, ...result } = await new Promise<Answer>((resolve_, reject) => {
      this.#waiting.push({ resolve: resolve_, reject })
      this.#process.stdin.write(`${JSON.stringify({ config, topology, script })}\n`)
    })
    if (invalid !== undefined) throw new Error(`${name}: ${invalid}`)
    return result
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.stdin.end()
    await this.#exited
  }
}

import { spawn, spawnSync, type ChildProcessByStdio } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import type { CaseResult, ConformanceCase } from '../../test/conformance/case.ts'

const root = resolve(fileURLToPath(new URL('../..', import.meta.url)))
const project = join(root, 'conformance', 'java')
const cache = join(root, '.cache', 'conformance')
const library = join(cache, 'lib')
const stamp = join(cache, 'built')

/** Short runs: a small heap, and no time lost on compiling well what runs once. */
const jvmOptions = ['-Xmx512m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']

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

/** Compiles conformance/java when it has changed. Throws an Error with Maven's own words. */
function build(): void {
  const hash = createHash('sha256').update(readFileSync(join(project, 'pom.xml')))
  const sources = readdirSync(join(project, 'src'), { recursive: true, encoding: 'utf8' }).sort()
  for (const path of sources.filter((name) => name.endsWith('.java'))) {
    hash.update(path).update(readFileSync(join(project, 'src', path)))
  }
  const wanted = hash.digest('hex')
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === wanted) return
  mkdirSync(cache, { recursive: true })
  for (const path of [stamp, library, join(cache, 'target')]) {
    rmSync(path, { recursive: true, force: true })
  }
  const goals = ['compile', 'dependency:copy-dependencies', `-DoutputDirectory=${library}`]
  const maven = ['-q', '-B', '-f', join(project, 'pom.xml'), ...goals]
  const { status, stdout } = spawnSync('mvn', maven, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`Maven could not build conformance/java:\n${stdout.trim()}`)
  writeFileSync(stamp, wanted)
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
    build()
    const classPath = `${join(cache, 'target', 'classes')}:${join(library, '*')}`
    const command = [...jvmOptions, '-cp', classPath, 'millpond.conformance.Main']
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

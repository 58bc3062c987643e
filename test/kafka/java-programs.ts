import { spawn, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(fileURLToPath(new URL('../..', import.meta.url)))
const project = join(root, 'conformance', 'java', 'interchange')
const cache = join(root, '.cache', 'interchange')
const classPathFile = join(cache, 'classpath')

/** Short runs: a small heap, and no time lost on compiling well what runs once. */
const jvmOptions = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
const logOptions = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=warn']

/** What is kept of what a program writes to standard error, to be shown when it fails. */
const errorBytesMax = 20_000

/**
 * Vitest's global setup where Java programs are run: compiles them (Maven knows what has changed).
 * Throws an Error with Maven's own words.
 */
export function setup(): void {
  mkdirSync(cache, { recursive: true })
  const goals = ['compile', 'dependency:build-classpath', `-Dmdep.outputFile=${classPathFile}`]
  const maven = ['-q', '-B', '-f', join(project, 'pom.xml'), ...goals]
  const { status, stdout } = spawnSync('mvn', maven, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`Maven could not build the Java programs:\n${stdout.trim()}`)
}

/**
 * Runs a program of conformance/java/interchange and resolves with the lines of its standard output.
 * Rejects with what it wrote to standard error when it fails, or when the signal ends it.
 */
export function runJava(
  program: 'Tally' | 'Orders' | 'Visits' | 'Clients' | 'Transactions',
  args: readonly string[],
  signal: AbortSignal,
  groupProtocol: 'classic' | 'streams' = 'classic',
): Promise<string[]> {
  if (!existsSync(classPathFile))
    throw new Error('Run `npm run test:kafka`: it builds the programs.')
  const classPath = `${join(cache, 'target', 'classes')}:${readFileSync(classPathFile, 'utf8').trim()}`
  const command = [
    ...jvmOptions,
    ...logOptions,
    `-Dgroup.protocol=${groupProtocol}`,
    '-cp',
    classPath,
    `millpond.interchange.${program}`,
  ]
  return new Promise((done, failed) => {
    const child = spawn('java', [...command, ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
      killSignal: 'SIGKILL',
    })
    let output = ''
    let errors = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-errorBytesMax)
    })
    child.once('error', failed)
    child.once('close', (code) => {
      if (code === 0) done(output.split('\n').filter((line) => line !== ''))
      else failed(new Error(`${program} ended with code ${code}:\n${output}\n${errors}`))
    })
  })
}

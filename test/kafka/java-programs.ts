import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { fileURLToPath } from 'node:url'
import type { TestProject } from 'vitest/node'

const root = resolve(fileURLToPath(new URL('../..', import.meta.url)))
const project = join(root, 'conformance', 'java', 'interchange')
const cache = join(root, '.cache', 'interchange')
const classPathFile = join(cache, 'classpath')

/** Short runs: a small heap, and no time lost on compiling well what runs once. */
const jvmOptions = ['-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1']
const logOptions = ['-Dorg.slf4j.simpleLogger.defaultLogLevel=warn']

/** What is kept of what a program writes to standard error, to be shown when it fails. */
const errorBytesMax = 20_000

/** Where the process listens that takes turns. */
const portVariable = 'MILLPOND_TEST_JAVA_PORT'

function commandOf(program: string): string[] {
  const classPath = `${join(cache, 'target', 'classes')}:${readFileSync(classPathFile, 'utf8').trim()}`
  return [...jvmOptions, ...logOptions, '-cp', classPath, `millpond.interchange.${program}`]
}

/**
 * Vitest's global setup where Java programs are run: compiles them (Maven knows what has changed), and starts
 * the one process in which Kafka Streams takes its turns. Throws an Error with Maven's own words.
 */
export async function setup({ config }: TestProject): Promise<() => Promise<void>> {
  mkdirSync(cache, { recursive: true })
  const goals = ['compile', 'dependency:build-classpath', `-Dmdep.outputFile=${classPathFile}`]
  const maven = ['-q', '-B', '-f', join(project, 'pom.xml'), ...goals]
  const { status, stdout } = spawnSync('mvn', maven, { encoding: 'utf8' })
  if (status !== 0) throw new Error(`Maven could not build the Java programs:\n${stdout.trim()}`)

  // It ends with its standard input, also when nobody closes that in order.
  const turns = spawn('java', commandOf('Turns'), { stdio: ['pipe', 'pipe', 'ignore'] })
  const exited = once(turns, 'exit')
  const [port] = (await Promise.race([
    once(createInterface(turns.stdout), 'line'),
    exited.then(() => {
      throw new Error('The process of the Java programs ended at once.')
    }),
  ])) as [string]
  config.env[portVariable] = port
  return async () => {
    turns.stdin.end()
    await exited
  }
}

/**
 * Kafka Streams takes a turn at an application of conformance/java/interchange: resolves with the rows that
 * it tells. Rejects with its stack when it fails, or when the signal ends it.
 */
export async function runTurn(
  program: 'Tally' | 'Orders' | 'Visits' | 'Market',
  args: readonly string[],
  signal: AbortSignal,
  groupProtocol: 'classic' | 'streams' = 'classic',
): Promise<string[]> {
  const port = process.env[portVariable]
  if (port === undefined)
    throw new Error('Run `npm run test:kafka`: it builds and starts the programs.')
  const socket = connect({ host: '127.0.0.1', port: Number(port) })
  const end = (): void => {
    socket.destroy(new Error(`${program} was ended before its turn was over`))
  }
  signal.addEventListener('abort', end, { once: true })
  try {
    socket.write([program, groupProtocol, ...args, '', ''].join('\n'))
    const answer = (await text(socket)).trimEnd()
    const rows = answer === '' ? [] : answer.split('\n')
    if (rows.pop() !== 'done') throw new Error(`${program} failed:\n${answer}`)
    return rows
  } finally {
    signal.removeEventListener('abort', end)
    socket.destroy()
  }
}

/**
 * Runs a program of conformance/java/interchange in a process of its own and resolves with the lines of its
 * standard output. Rejects with what it wrote to standard error when it fails, or when the signal ends it.
 */
export function runJava(
  program: 'Clients' | 'Transactions',
  args: readonly string[],
  signal: AbortSignal,
): Promise<string[]> {
  return new Promise((done, failed) => {
    const child = spawn('java', [...commandOf(program), ...args], {
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
      killSignal: 'SIGKILL',
    })
    let output = ''
    let errors = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => (output += chunk))
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      errors = (errors + chunk).slice(-errorBytesMax)
    })
    child.once('error', failed)
    child.once('close', (code) => {
      if (code === 0) done(output.split('\n').filter((line) => line !== ''))
      else failed(new Error(`${program} ended with code ${code}:\n${output}\n${errors}`))
    })
  })
}

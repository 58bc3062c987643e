import { constants, createReadStream, openSync, readdirSync, statSync } from 'node:fs'
import { Socket } from 'node:net'
import { join, resolve } from 'node:path'
import type { Readable } from 'node:stream'
import { fileURLToPath } from 'node:url'
import { PreflightError } from './preflight.ts'

/** Something that lines are read from. */
export interface TextInput {
  /** Names it in the reading progress; undefined: it cannot be read from the middle. */
  readonly progressName: string | undefined
  /** Its bytes behind the first `start`. */
  open(start: number): Readable
}

/** The inputs that were asked for, in their order; one that is named twice is read twice. */
export function namedInputs(paths: readonly string[]): TextInput[] {
  return paths.map((path, index) => {
    if (path === '-') return { progressName: undefined, open: () => process.stdin }
    const before = paths.slice(0, index).filter((other) => resolve(other) === resolve(path)).length
    return fileInput(path, before)
  })
}

/** The texts of the project itself. */
export function documentationInputs(): TextInput[] {
  const root = fileURLToPath(new URL('../../../', import.meta.url))
  const pages = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => join('docs', name))
  return ['README.md', ...pages].map((name) => fileInput(join(root, name), 0))
}

function fileInput(path: string, before: number): TextInput {
  const stats = statSync(path)
  const isRegular = stats.isFile()
  const progressName = before === 0 ? resolve(path) : `${resolve(path)}#${before + 1}`
  return {
    // A pipe has no middle.
    progressName: isRegular ? progressName : undefined,
    open: (start) => {
      if (isRegular && statSync(path).size < start) {
        throw new PreflightError(
          `The input ${path} is shorter than what was counted of it. Use another --data-dir.`,
        )
      }
      return stats.isFIFO() ? namedPipe(path) : createReadStream(path, isRegular ? { start } : {})
    },
  }
}

/**
 * A read of a file waits in a thread that nothing can call back, and a pipe that nobody writes to would
 * keep the demo from stopping. So the pipe is polled, as a socket is.
 */
function namedPipe(path: string): Readable {
  const fd = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK)
  return new Socket({ fd, readable: true, writable: false })
}

import { createRequire } from 'node:module'
import { StreamsError, messageOf } from '../errors.ts'

const require = createRequire(import.meta.url)

/**
 * Loads a library that only the users of one format install; all of them are CommonJS.
 *
 * @throws `SCHEMA_REGISTRY_LIBRARY_MISSING`, which names it.
 */
export function optionalLibrary(library: string, format: string, path: string = library): unknown {
  try {
    return require(path)
  } catch (error) {
    // The first line: a list of places where it was looked for follows.
    const [detail] = messageOf(error).split('\n')
    const context = { library, format, detail }
    throw new StreamsError('SCHEMA_REGISTRY_LIBRARY_MISSING', context, { cause: error })
  }
}

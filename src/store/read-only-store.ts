import { StreamsError } from '../errors.ts'

/** Methods that read, over all kinds of stores; no kind has all of them. */
const reads = [
  'get',
  'range',
  'prefix',
  'approximateEntryCount',
  'fetch',
  'fetchRange',
  'fetchSession',
  'findSessions',
  'findSessionsRange',
  'versions',
] as const

const writes = ['put', 'putIfAbsent', 'delete', 'remove'] as const

/**
 * A store as those see it who may only read it: each write throws `STORE_READ_ONLY`. Java's
 * AbstractReadOnlyDecorator.
 */
export function readOnlyStore<S extends { readonly name: string }>(store: S): S {
  const { name } = store
  const methods = store as unknown as Readonly<Record<string, unknown>>
  const face: Record<string, unknown> = { name }
  for (const method of reads) {
    const read = methods[method]
    if (typeof read === 'function') face[method] = read.bind(store) as unknown
  }
  const refuse = (): never => {
    throw new StreamsError('STORE_READ_ONLY', { store: name })
  }
  for (const method of writes) if (typeof methods[method] === 'function') face[method] = refuse
  return Object.freeze(face) as S
}

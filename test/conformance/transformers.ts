/**
 * The transformers of values that cases name, as `name` or `name:argument`. conformance/java's
 * Transformers.java has the same ones; docs/internals/conformance.md lists them.
 */
import type {
  TransformFunction,
  ValueTransformerContext,
} from '../../src/processor/value-transformer.ts'
import type { KeyValueStore } from '../../src/store/key-value-store.ts'
import { InvalidCase } from './case.ts'
import { text } from './function-library.ts'

type Transform = TransformFunction<unknown, object, object | null>
type Context = ValueTransformerContext

const transformers: Readonly<Record<string, (context: Context) => Transform>> = {
  'value-and-time': (context) => (value) =>
    value === undefined ? null : shown(`${text(value)}@${context.timestamp}`),
  // Gives a value also for a row that is gone.
  'never-gone': (context) => (value, key) =>
    shown(`${text(key)}:${text(value)}@${context.timestamp}`),
  headers: (context) => (value) =>
    value === undefined
      ? null
      : shown(`${text(value)}[${context.headers.map(([name]) => name).join(',')}]`),
  origin: (context) => (value) => {
    const { topic = 'null', offset = -1 } = context.recordMetadata ?? {}
    return value === undefined ? null : shown(`${text(value)} of ${topic} ${offset}`)
  },
  // How often it was called for the key, counted in its first store.
  calls: ({ stores }) => {
    const [counts] = Object.values(stores) as KeyValueStore<string, number>[]
    if (counts === undefined) throw new InvalidCase('calls needs a store')
    return (value, key) => {
      const calls = (counts.get(text(key)) ?? 0) + 1
      counts.put(text(key), calls)
      return value === undefined ? null : shown(`${text(value)}#${calls}`)
    }
  },
}

/** The transformer of that name. */
export function transformerOf(spec: string | undefined): (context: Context) => Transform {
  const make = transformers[spec ?? '']
  if (make === undefined) throw new InvalidCase(`there is no transformer ${spec}`)
  return make
}

/** Values of tables are objects in the types of cases. */
function shown(value: string): object {
  return value as unknown as object
}

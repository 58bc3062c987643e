/** Functions of the library, chosen so that types fit: Kafka Streams casts, and would fail. */
import type { Chance } from './chance.ts'

/** A function and the type of what it gives. */
export type TypedFunction = readonly [spec: string, type: string]

/** A mapper or selector of values and keys of those types. */
export function randomFunction(
  chance: Chance,
  { key, value }: { readonly key: string; readonly value: string },
): TypedFunction {
  const isFraction = value === 'double' || value === 'float'
  const isNumber = isFraction || value === 'long' || value === 'int' || value === 'short'
  return chance.pick<TypedFunction>([
    ['value', value],
    ['value', value],
    ['key', key],
    ['text', 'string'],
    ['show', 'string'],
    ['upper', 'string'],
    [`append:${chance.pick(['x', '!', ' '])}`, 'string'],
    [`prefix:${chance.below(4)}`, 'string'],
    ['constant:c', 'string'],
    ['length', 'long'],
    [`number:${chance.below(3)}`, 'long'],
    ['parse-int', isNumber ? value : 'long'],
    ['add:1', isFraction ? 'double' : 'long'],
    ['mod:3', 'long'],
    ['quarter', 'double'],
    ['null', value],
    [`null-when:${chance.pick(['drop', '1', '', 'true'])}`, value],
    [`null-when:${chance.pick(['to', '0', 'null'])}`, value],
  ])
}

/** A function that gives a list; its type is that of the items. */
export function randomListFunction(chance: Chance, value: string): TypedFunction {
  return chance.pick<TypedFunction>([
    ['words', 'string'],
    ['words', 'string'],
    [`repeat:${chance.below(3)}`, value],
    ['and-null', value],
  ])
}

export function randomPredicate(chance: Chance): string {
  return chance.pick([
    'not-null',
    'is-null',
    'has-key',
    'even',
    'all',
    'none',
    `longer-than:${chance.below(5)}`,
    `starts-with:${chance.pick(['t', '-', '1'])}`,
    `equals:${chance.pick(['to', '1', 'true', 'null'])}`,
  ])
}

/** A reducer of values of that type. */
export function randomReducer(chance: Chance, value: string): string {
  const any = ['first', 'last', 'last', 'longest', 'nothing']
  if (value === 'string') {
    return chance.pick([...any, 'concat', 'concat', 'concat-until:9', 'null-on:drop'])
  }
  if (value === 'double') return chance.pick([...any, 'sum', 'sum-until:3'])
  return chance.pick(value === 'long' ? [...any, 'sum-until:4'] : any)
}

/** An initializer and an aggregator of values of that type, and the type of the aggregate. */
export function randomAggregator(
  chance: Chance,
  value: string,
): readonly [initializer: string, fold: string, type: string] {
  if (value !== 'double' && value !== 'float' && chance.is(0.4)) {
    return ['number:0', chance.pick(['count', 'sum-until:3', 'nothing']), 'long']
  }
  const folds = ['concat', 'concat-keyed', 'concat-until:9', 'null-on:drop', 'first', 'nothing']
  const initializers = ['constant:', 'constant:0', 'constant:0', 'null']
  return [chance.pick(initializers), chance.pick(folds), 'string']
}

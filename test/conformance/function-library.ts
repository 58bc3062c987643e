/**
 * The functions that cases name, as `name` or `name:argument`. conformance/java's Library.java has the
 * same ones; docs/internals/conformance.md lists them. What reads a value gives null for null, unless the list
 * says otherwise.
 */
import type { Windowed } from '../../src/store/windowed.ts'
import { InvalidCase } from './case.ts'

/** A mapper, selector, predicate or initializer. */
export type LibraryFunction = (value: unknown, key: unknown) => unknown

/** A reducer or aggregator; null deletes. */
export type LibraryFold = (aggregate: unknown, value: unknown, key: unknown) => unknown

/** Of a join; null or undefined where there is no other value. Kafka Streams does not tell all of them the key. */
export type LibraryJoiner = (left: unknown, right: unknown, key: unknown) => unknown

/** How every function sees a value as text: bytes are hexadecimal. */
export function text(value: unknown): string {
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (isWindowed(value)) return `[${text(value.key)}@${text(value.window.start)}/${endOf(value)}]`
  if (Array.isArray(value)) return `[${value.map(text).join(',')}]`
  if (value === undefined) return 'null'
  const plain = value as string | number | boolean | null
  // Adding zero takes the sign from minus zero.
  return String(typeof plain === 'number' ? plain + 0 : plain)
}

function isWindowed(value: unknown): value is Windowed<unknown> {
  return typeof value === 'object' && value !== null && 'window' in value
}

/** Java's end of unlimited windows has one. */
function endOf({ window: { end } }: Windowed<unknown>): string {
  return end === Infinity ? '9223372036854775807' : String(end)
}

/** A number as it is, text that is a whole number as one, all else null. */
function numberOf(value: unknown): number | null {
  if (typeof value === 'number') return value
  const shown = text(value)
  return /^-?\d{1,15}$/.test(shown) ? Number(shown) + 0 : null
}

function sum(left: number | null, right: number | null): number | null {
  return left === null || right === null ? null : left + right
}

/** The aggregate stays when the value is no number. */
function plus(aggregate: unknown, value: unknown): unknown {
  return sum(numberOf(aggregate), numberOf(value)) ?? aggregate
}

function modulo(value: unknown, divisor: number): number | null {
  const number = numberOf(value)
  return number === null ? null : ((Math.trunc(number) % divisor) + divisor) % divisor
}

function words(value: unknown): string[] {
  return value === null || value === undefined
    ? []
    : text(value)
        .split(' ')
        .filter((word) => word !== '')
}

/** Applies a function to the text of a value; null stays null. */
function onText(map: (shown: string) => unknown): LibraryFunction {
  return (value) => (value === null || value === undefined ? null : map(text(value)))
}

const isPresent = (value: unknown): boolean => value !== null && value !== undefined

const functions: Readonly<Record<string, (argument: string) => LibraryFunction>> = {
  value: () => (value) => value,
  key: () => (_value, key) => key,
  null: () => () => null,
  constant: (argument) => () => argument,
  number: (argument) => () => Number(argument),
  text: () => onText((shown) => shown),
  show: () => (value, key) => `${text(key)}=${text(value)}`,
  upper: () => onText((shown) => shown.toUpperCase()),
  append: (argument) => onText((shown) => shown + argument),
  prefix: (argument) => onText((shown) => shown.slice(0, Number(argument))),
  at: (argument) => onText((shown) => shown[Number(argument)] ?? null),
  'key-at': (argument) => (_value, key) =>
    isPresent(key) ? (text(key)[Number(argument)] ?? null) : null,
  length: () => onText((shown) => shown.length),
  'parse-int': () => numberOf,
  add: (argument) => (value) => sum(numberOf(value), Number(argument)),
  mod: (argument) => (value) => modulo(value, Number(argument)),
  quarter: () => (value) => {
    const number = modulo(value, 1000)
    return number === null ? null : number / 4
  },
  'null-when': (argument) => (value) => (text(value) === argument ? null : value),
  // Predicates.
  all: () => () => true,
  none: () => () => false,
  'is-null': () => (value) => !isPresent(value),
  'not-null': () => isPresent,
  'has-key': () => (_value, key) => isPresent(key),
  even: () => (value) => modulo(value, 2) === 0,
  'longer-than': (argument) => (value) => isPresent(value) && text(value).length > Number(argument),
  'starts-with': (argument) => (value) => isPresent(value) && text(value).startsWith(argument),
  equals: (argument) => (value) => text(value) === argument,
  // Lists.
  words: () => words,
  repeat: (argument) => (value) => Array(Number(argument)).fill(value),
  'and-null': () => (value) => [value, null],
  // Any of these, with a text that it fails on.
  'fail-on': (argument) => {
    const [failing, inner] = failingOf(argument)
    const given = libraryFunction(inner)
    return (value, key) => {
      failOn(failing, value)
      return given(value, key)
    }
  },
}

const folds: Readonly<Record<string, (argument: string) => LibraryFold>> = {
  first: () => (aggregate) => aggregate,
  last: () => (_aggregate, value) => value,
  nothing: () => () => null,
  count: () => (aggregate) => sum(numberOf(aggregate), 1),
  sum: () => plus,
  minus: () => (aggregate, value) => {
    const number = numberOf(value)
    return number === null ? aggregate : plus(aggregate, -number)
  },
  append: () => (aggregate, value) => text(aggregate) + text(value),
  erase: () => (aggregate, value) => text(aggregate).replaceAll(text(value), ''),
  'sum-until': (argument) => (aggregate, value) => {
    const total = plus(aggregate, value)
    return (total as number) >= Number(argument) ? null : total
  },
  concat: () => (aggregate, value) => `${text(aggregate)}+${text(value)}`,
  'concat-until': (argument) => (aggregate, value) => {
    const all = `${text(aggregate)}+${text(value)}`
    return all.length > Number(argument) ? null : all
  },
  'concat-keyed': () => (aggregate, value, key) => `${text(aggregate)},${text(key)}${text(value)}`,
  longest: () => (aggregate, value) =>
    text(value).length > text(aggregate).length ? value : aggregate,
  'null-on': (argument) => (aggregate, value) =>
    text(value) === argument ? null : `${text(aggregate)}+${text(value)}`,
  'fail-on': (argument) => {
    const [failing, inner] = failingOf(argument)
    const given = libraryFold(inner)
    return (aggregate, value, key) => {
      failOn(failing, value)
      return given(aggregate, value, key)
    }
  },
}

const joiners: Readonly<Record<string, (argument: string) => LibraryJoiner>> = {
  left: () => (left) => left,
  right: () => (_left, right) => right,
  neither: () => () => null,
  pair: (argument) => (left, right) => text(left) + argument + text(right),
  'keyed-pair': (argument) => (left, right, key) =>
    `${text(key)}:${text(left)}${argument}${text(right)}`,
  'no-pair-of': (argument) => (left, right) =>
    text(left) === argument ? null : `${text(left)}-${text(right)}`,
  'fail-on': (argument) => {
    const [failing, inner] = failingOf(argument)
    const given = libraryJoiner(inner)
    return (left, right, key) => {
      failOn(failing, left)
      return given(left, right, key)
    }
  },
}

/** Name and argument of a function as a case writes it. */
export function partsOf(spec: string): [name: string, argument: string] {
  const colon = spec.indexOf(':')
  return colon < 0 ? [spec, ''] : [spec.slice(0, colon), spec.slice(colon + 1)]
}

/** Of `TEXT,SPEC`: what fails, and what is done else. */
export function failingOf(argument: string): [failing: string, inner: string] {
  const comma = argument.indexOf(',')
  return [argument.slice(0, Math.max(0, comma)), argument.slice(comma + 1)]
}

/** Throws on that text. */
export function failOn(failing: string, value: unknown): void {
  if (text(value) === failing) throw new Error(`failed on ${failing}`)
}

/** The function of that name. */
export function libraryFunction(spec: string): LibraryFunction {
  const [name, argument] = partsOf(spec)
  const make = functions[name]
  if (make === undefined) throw new InvalidCase(`there is no function ${spec}`)
  return make(argument)
}

/** The fold of that name. */
export function libraryFold(spec: string): LibraryFold {
  const [name, argument] = partsOf(spec)
  const make = folds[name]
  if (make === undefined) throw new InvalidCase(`there is no fold ${spec}`)
  return make(argument)
}

/** The joiner of that name. */
export function libraryJoiner(spec: string): LibraryJoiner {
  const [name, argument] = partsOf(spec)
  const make = joiners[name]
  if (make === undefined) throw new InvalidCase(`there is no joiner ${spec}`)
  return make(argument)
}

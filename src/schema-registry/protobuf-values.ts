/**
 * Messages as plain objects of a program. The library would take whatever it is given (a text as a
 * number, the lower bits of a number that is too large), and gives objects of its own; here every value is
 * checked on its way in, and is a value of JavaScript on its way out:
 *
 *     fields          in camelCase, as in the JSON of Protobuf
 *     64 bits         numbers, an error beyond 2^53, or bigints
 *     enums           names; numbers that have no name stay numbers
 *     bytes           Buffers
 *     maps            objects
 *     not there       a field that can be absent is not in the object; others have their default
 */
import type * as protobuf from 'protobufjs'
import { shownValue } from '../base/shown-value.ts'
import type { LongForm } from './long-form.ts'

type Fields = Record<string, unknown>
type Convert = (value: unknown) => unknown

/** How one field comes and goes. */
interface FieldPlan {
  readonly name: string
  readonly isRequired: boolean
  /** Of the fields of which only one may be there: the name that they share. */
  readonly oneOf: string | undefined
  readonly read: Convert
  readonly write: Convert
  /** What stands for a field that is not there; undefined: nothing. */
  readonly absent: (() => unknown) | undefined
}

/** What the library has of a 64-bit number. */
interface Bits {
  readonly low: number
  readonly high: number
}

/** Converts messages of one type, and of those within. */
export class MessageValues {
  readonly #longs: LongForm
  readonly #library: typeof protobuf
  readonly #type: protobuf.Type
  readonly #inner: Map<protobuf.Type, MessageValues>
  #plans: readonly FieldPlan[] | undefined

  constructor(
    type: protobuf.Type,
    options: { readonly longs: LongForm; readonly library: typeof protobuf },
    inner: Map<protobuf.Type, MessageValues> = new Map(),
  ) {
    this.#type = type
    this.#longs = options.longs
    this.#library = options.library
    this.#inner = inner
    inner.set(type, this)
  }

  /** The plain object of what the library decoded. Throws an Error for a number that is too large. */
  read(message: unknown): Fields {
    const fields: Fields = {}
    for (const { name, read, absent } of this.#fieldPlans()) {
      const value = ownField(message as Fields, name)
      if (value === undefined) {
        if (absent !== undefined) fields[name] = absent()
      } else {
        fields[name] = within(name, read, value)
      }
    }
    return fields
  }

  /** What the library encodes. Throws an Error that names the field whose value does not fit. */
  write(value: unknown): Fields {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      throw new Error(`${shownValue(value)} is not an object`)
    }
    const fields: Fields = {}
    const taken = new Map<string, string>()
    for (const { name, isRequired, oneOf, write } of this.#fieldPlans()) {
      const given = ownField(value as Fields, name)
      if (given === undefined) {
        if (isRequired) throw new Error(`${name}: it is required, and not there`)
        continue
      }
      if (oneOf !== undefined) {
        const other = taken.get(oneOf)
        if (other !== undefined) throw new Error(`${oneOf}: there is ${other} as well as ${name}`)
        taken.set(oneOf, name)
      }
      fields[name] = within(name, write, given)
    }
    return fields
  }

  #fieldPlans(): readonly FieldPlan[] {
    this.#plans ??= this.#type.fieldsArray.map((field) => this.#planOf(field.resolve()))
    return this.#plans
  }

  #planOf(field: protobuf.Field): FieldPlan {
    const one = this.#conversionOf(field)
    const { name, partOf } = field
    const plan = {
      name,
      isRequired: field.required,
      oneOf: partOf !== null && !partOf.isProto3Optional ? partOf.name : undefined,
    }
    if (field.map) {
      const keys = keysOf(field as unknown as protobuf.MapField, this.#library)
      const read = mapOf(one.read, keys.read)
      return { ...plan, read, write: mapOf(one.write, keys.write), absent: () => ({}) }
    }
    if (field.repeated) {
      return { ...plan, read: listOf(one.read), write: listOf(one.write), absent: () => [] }
    }
    const canBeAbsent = field.hasPresence || this.#isMessage(field)
    return { ...plan, ...one, absent: canBeAbsent ? undefined : () => one.read(field.typeDefault) }
  }

  #isMessage(field: protobuf.Field): boolean {
    return field.resolvedType instanceof this.#library.Type
  }

  #conversionOf(field: protobuf.Field): { read: Convert; write: Convert } {
    const { resolvedType } = field
    if (resolvedType instanceof this.#library.Enum) return enumOf(resolvedType)
    if (resolvedType !== null) {
      const values = this.#inner.get(resolvedType) ?? this.#innerOf(resolvedType)
      return {
        read: (message) => values.read(message),
        write: (value) => values.write(value),
      }
    }
    return scalarOf(field.type, this.#longs)
  }

  #innerOf(type: protobuf.Type): MessageValues {
    const options = { longs: this.#longs, library: this.#library }
    return new MessageValues(type, options, this.#inner)
  }
}

/** A field that is there; null counts as absent, as in the JSON of Protobuf. */
function ownField(fields: Fields, name: string): unknown {
  return Object.hasOwn(fields, name) ? (fields[name] ?? undefined) : undefined
}

function within(name: string, convert: Convert, value: unknown): unknown {
  try {
    return convert(value)
  } catch (error) {
    const { message } = error as Error
    // Names of fields, one in the other; then what is wrong there.
    throw new Error(`${name}${/^[\w.[\]]+: /.test(message) ? '.' : ': '}${message}`, {
      cause: error,
    })
  }
}

function listOf(convert: Convert): Convert {
  return (list) => {
    if (!Array.isArray(list)) throw new Error(`${shownValue(list)} is not an array`)
    return list.map((item, index) => {
      if (item === null || item === undefined) throw new Error(`the element ${index} is not there`)
      return convert(item)
    })
  }
}

function mapOf(convert: Convert, key: (name: string) => string): Convert {
  return (map) => {
    if (typeof map !== 'object' || map === null || Array.isArray(map)) {
      throw new Error(`${shownValue(map)} is not an object`)
    }
    const entries: [string, unknown][] = []
    for (const [name, value] of Object.entries(map as Fields)) {
      if (value === null || value === undefined) {
        throw new Error(`the value of ${shownValue(name)} is not there`)
      }
      entries.push([key(name), convert(value)])
    }
    return Object.fromEntries(entries)
  }
}

/** Keys are texts in JavaScript; the library keeps those of 64 bits in a form of its own. */
function keysOf(
  { keyType }: protobuf.MapField,
  library: typeof protobuf,
): { read: (name: string) => string; write: (name: string) => string } {
  const as = (name: string): string => name
  if (keyType === 'string') return { read: as, write: as }
  const isUnsigned = keyType.startsWith('u') || keyType.startsWith('fixed')
  const is64 = keyType.endsWith('64')
  const write = (name: string): string => {
    if (keyType === 'bool') {
      if (name !== 'true' && name !== 'false')
        throw new Error(`${shownValue(name)} is not true or false`)
      return name
    }
    if (!/^-?\d+$/.test(name)) throw new Error(`${shownValue(name)} is not a whole number`)
    assertRange(BigInt(name), { bits: is64 ? 64 : 32, isUnsigned })
    return name
  }
  if (!is64) return { read: as, write }
  const read = (name: string): string =>
    name.length === 8 && !/^-?\d+$/.test(name)
      ? bigintOf(library.util.longFromHash(name, isUnsigned), isUnsigned).toString()
      : name
  return { read, write }
}

function enumOf({ values, valuesById }: protobuf.Enum): { read: Convert; write: Convert } {
  return {
    read: (number) => valuesById[number as number] ?? number,
    write: (value) => {
      if (typeof value === 'string' && Object.hasOwn(values, value)) return values[value]
      if (typeof value === 'number' && (value | 0) === value) return value
      throw new Error(`${shownValue(value)} is none of ${Object.keys(values).join(', ')}`)
    },
  }
}

function scalarOf(type: string, longs: LongForm): { read: Convert; write: Convert } {
  const as: Convert = (value) => value
  switch (type) {
    case 'string':
      return { read: as, write: (value) => assertType(value, 'string') }
    case 'bool':
      return { read: as, write: (value) => assertType(value, 'boolean') }
    case 'double':
    case 'float':
      return { read: as, write: (value) => assertType(value, 'number') }
    case 'bytes':
      return { read: bytesOf, write: assertBytes }
    case 'int64':
    case 'sint64':
    case 'sfixed64':
      return longOf(longs, false)
    case 'uint64':
    case 'fixed64':
      return longOf(longs, true)
    default: {
      const isUnsigned = type === 'uint32' || type === 'fixed32'
      return {
        read: as,
        write: (value) => {
          if (!Number.isInteger(value))
            throw new Error(`${shownValue(value)} is not a whole number`)
          assertRange(value as number, { bits: 32, isUnsigned })
          return value
        },
      }
    }
  }
}

function assertType(value: unknown, type: 'string' | 'boolean' | 'number'): unknown {
  // oxlint-disable-next-line valid-typeof -- one of the three
  if (typeof value !== type) throw new Error(`${shownValue(value)} is not a ${type}`)
  return value
}

function assertBytes(value: unknown): unknown {
  if (value instanceof Uint8Array) return value
  throw new Error(`${shownValue(value)} is not bytes`)
}

/** What is read is borrowed. */
function bytesOf(value: unknown): Buffer {
  return Buffer.from(value as Uint8Array)
}

function longOf(longs: LongForm, isUnsigned: boolean): { read: Convert; write: Convert } {
  const write: Convert = (value) => {
    if (typeof value !== 'bigint' && !Number.isSafeInteger(value)) {
      throw new Error(`${shownValue(value)} is not a whole number of 64 bits`)
    }
    const number = BigInt(value as number | bigint)
    assertRange(number, { bits: 64, isUnsigned })
    return {
      low: Number(BigInt.asIntN(32, number)),
      high: Number(BigInt.asIntN(32, number >> 32n)),
      unsigned: isUnsigned,
    }
  }
  if (longs === 'bigint') return { read: (bits) => bigintOf(bits, isUnsigned), write }
  const read: Convert = (bits) => {
    const number = Number(bigintOf(bits, isUnsigned))
    if (Number.isSafeInteger(number)) return number
    throw new Error(`${bigintOf(bits, isUnsigned)} is beyond 2^53; use longs: 'bigint'`)
  }
  return { read, write }
}

function bigintOf(given: unknown, isUnsigned: boolean): bigint {
  if (typeof given === 'number') return BigInt(given)
  const { low, high } = given as Bits
  const bits = (BigInt(high) << 32n) | BigInt(low >>> 0)
  return isUnsigned ? BigInt.asUintN(64, bits) : BigInt.asIntN(64, bits)
}

function assertRange(
  value: number | bigint,
  { bits, isUnsigned }: { readonly bits: 32 | 64; readonly isUnsigned: boolean },
): void {
  const number = BigInt(value)
  const fits = isUnsigned ? BigInt.asUintN(bits, number) : BigInt.asIntN(bits, number)
  if (fits !== number) {
    const kind = isUnsigned ? 'an unsigned number' : 'a number'
    throw new Error(`${number} is not ${kind} of ${bits} bits`)
  }
}

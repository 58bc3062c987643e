import { assert } from '../base/assert.ts'
import { StreamsError } from '../errors.ts'
import type { AnyField, Fields } from './field.ts'
import type { Reader } from './reader.ts'
import type { Writer } from './writer.ts'

/**
 * Turns a table into two functions for one version. What depends on the version (which fields there
 * are, compact or not, nullable or not) is decided here once, so that coding a message only runs a
 * list of steps.
 */
export interface Codec {
  readonly read: (reader: Reader) => unknown
  readonly write: (writer: Writer, value: unknown) => void
}

/** Which version of which message is compiled. */
export interface CodecTarget {
  /** The message, for errors: for example `Metadata request`. */
  readonly name: string
  readonly version: number
  readonly flexible: boolean
}

type Values = Record<string, unknown>

interface Step extends Codec {
  readonly name: string
  readonly path: string
}

interface TaggedStep extends Step {
  readonly tag: number
  readonly isDefault: (value: unknown) => boolean
}

/** Compiles a struct; `path` names it in errors and is empty for the message itself. */
export function compileStruct(fields: Fields, target: CodecTarget, path = ''): Codec {
  const steps: Step[] = []
  const tagged: TaggedStep[] = []
  for (const [name, field] of Object.entries(fields)) {
    const fieldPath = path === '' ? name : `${path}.${name}`
    const present = field.since <= target.version && target.version <= field.until
    if (!present) steps.push({ name, path: fieldPath, ...absentCodec(field, target, fieldPath) })
    else if (field.tag === -1)
      steps.push({ name, path: fieldPath, ...presentCodec(field, target, fieldPath) })
    else {
      assert(
        target.flexible,
        `${target.name} has the tagged field ${fieldPath} when it is flexible`,
      )
      const codec = valueCodec(field, target, fieldPath)
      steps.push({ name, path: fieldPath, read: defaultOf(field), write: writeNothing })
      tagged.push({ name, path: fieldPath, tag: field.tag, isDefault: isDefault(field), ...codec })
    }
  }
  tagged.sort((a, b) => a.tag - b.tag)
  const tagPath = path === '' ? 'the tagged fields' : `the tagged fields of ${path}`

  return {
    read: (reader) => {
      const values: Values = {}
      for (const step of steps) {
        reader.field = step.path
        values[step.name] = step.read(reader)
      }
      if (target.flexible) {
        reader.field = tagPath
        if (tagged.length === 0) reader.skipTaggedFields()
        else readTagged(reader, values, tagged, tagPath)
      }
      return values
    },
    write: (writer, value) => {
      const values = value as Values
      for (const step of steps) {
        writer.field = step.path
        step.write(writer, values[step.name])
      }
      if (target.flexible) {
        if (tagged.length === 0) writer.uvarint(0)
        else writeTagged(writer, values, tagged)
      }
    },
  }
}

function readTagged(
  reader: Reader,
  values: Values,
  tagged: readonly TaggedStep[],
  tagPath: string,
): void {
  const count = reader.uvarint()
  if (count > reader.remaining) reader.fail(`${count} tagged fields in ${reader.remaining} bytes`)
  for (let index = 0; index < count; index += 1) {
    reader.field = tagPath
    const tag = reader.uvarint()
    const size = reader.uvarint()
    if (size > reader.remaining) reader.fail(`${size} bytes in ${reader.remaining}`)
    const end = reader.position + size
    const step = tagged.find((known) => known.tag === tag)
    if (step === undefined) reader.skip(size)
    else {
      reader.field = step.path
      values[step.name] = step.read(reader)
      if (reader.position !== end) reader.fail(`the tagged field does not have its ${size} bytes`)
    }
  }
}

function writeTagged(writer: Writer, values: Values, tagged: readonly TaggedStep[]): void {
  let count = 0
  for (const step of tagged) if (!isLeftOut(step, values)) count += 1
  writer.uvarint(count)
  for (const step of tagged) {
    if (isLeftOut(step, values)) continue
    writer.field = step.path
    writer.uvarint(step.tag)
    const start = writer.position
    step.write(writer, values[step.name])
    writer.prefixWithSize(start)
  }
}

function isLeftOut(step: TaggedStep, values: Values): boolean {
  const value = values[step.name]
  return value === undefined || step.isDefault(value)
}

function writeNothing(): void {}

/** A field that the version lacks: read as its default; written only if nothing is lost by that. */
function absentCodec(field: AnyField, target: CodecTarget, path: string): Codec {
  if (field.ignorable) return { read: defaultOf(field), write: writeNothing }
  const isDefaultValue = isDefault(field)
  return {
    read: defaultOf(field),
    write: (_writer, value) => {
      if (value !== undefined && !isDefaultValue(value))
        unsupported(target, path, `it has no field ${path}, which is set`)
    },
  }
}

/** A field that the version has: what was left out is written as its default, if it may be. */
function presentCodec(field: AnyField, target: CodecTarget, path: string): Codec {
  const codec = valueCodec(field, target, path)
  const makeDefault = defaultOf(field)
  return {
    read: codec.read,
    write: (writer, value) => {
      if (value !== undefined) codec.write(writer, value)
      else if (field.optional) codec.write(writer, makeDefault())
      else writer.fail('it has no value')
    },
  }
}

function valueCodec(field: AnyField, target: CodecTarget, path: string): Codec {
  const { flexible } = target
  switch (field.kind) {
    case 'int8':
      return { read: (r) => r.int8(), write: (w, v) => w.int8(v as number) }
    case 'int16':
      return { read: (r) => r.int16(), write: (w, v) => w.int16(v as number) }
    case 'uint16':
      return { read: (r) => r.uint16(), write: (w, v) => w.uint16(v as number) }
    case 'int32':
      return { read: (r) => r.int32(), write: (w, v) => w.int32(v as number) }
    case 'int64':
      return { read: (r) => r.int64(), write: (w, v) => w.int64(v as number) }
    case 'float64':
      return { read: (r) => r.float64(), write: (w, v) => w.float64(v as number) }
    case 'boolean':
      return { read: (r) => r.boolean(), write: (w, v) => w.boolean(v as boolean) }
    case 'uuid':
      return { read: (r) => r.uuid(), write: (w, v) => w.uuid(v as string) }
    case 'string': {
      const value: Codec = flexible
        ? { read: (r) => r.compactString(), write: (w, v) => w.compactString(v as string) }
        : { read: (r) => r.string(), write: (w, v) => w.string(v as string) }
      const orNull: Codec = flexible
        ? { read: (r) => r.compactNullableString(), write: (w) => w.uvarint(0) }
        : { read: (r) => r.nullableString(), write: (w) => w.int16(-1) }
      return withNull(field, target, path, value, orNull)
    }
    case 'bytes': {
      const value: Codec = flexible
        ? { read: (r) => r.compactBytes(), write: (w, v) => w.compactBytes(v as Uint8Array) }
        : { read: (r) => r.bytes(), write: (w, v) => w.bytes(v as Uint8Array) }
      const orNull: Codec = flexible
        ? { read: (r) => r.compactNullableBytes(), write: (w) => w.uvarint(0) }
        : { read: (r) => r.nullableBytes(), write: (w) => w.int32(-1) }
      return withNull(field, target, path, value, orNull)
    }
    case 'array':
      return arrayCodec(field, target, path)
    case 'struct':
      return structCodec(field, target, path)
    default:
      return field.kind satisfies never
  }
}

/** Chooses how null is treated: `orNull` reads a value or null and writes null. */
function withNull(
  field: AnyField,
  target: CodecTarget,
  path: string,
  value: Codec,
  orNull: Codec,
): Codec {
  const mayBeNull = target.version >= field.nullable
  return {
    read: mayBeNull ? orNull.read : value.read,
    write: (writer, given) => {
      if (given !== null) value.write(writer, given)
      else if (mayBeNull) orNull.write(writer, null)
      else unsupported(target, path, `its field ${path} cannot be null`)
    },
  }
}

function arrayCodec(field: AnyField, target: CodecTarget, path: string): Codec {
  assert(field.element !== undefined, 'an array has elements')
  const element = valueCodec(field.element, target, path)
  const { flexible } = target
  const mayBeNull = target.version >= field.nullable
  const read = (reader: Reader): unknown[] | null => {
    const length = flexible ? reader.compactArrayLength() : reader.arrayLength()
    if (length === -1) return mayBeNull ? null : reader.fail('null where an array must be')
    const values: unknown[] = []
    for (let index = 0; index < length; index += 1) values.push(element.read(reader))
    return values
  }
  const value: Codec = {
    read,
    write: (writer, given) => {
      const values = given as readonly unknown[]
      if (flexible) writer.compactArrayLength(values.length)
      else writer.arrayLength(values.length)
      for (const one of values) element.write(writer, one)
    },
  }
  const orNull: Codec = {
    read,
    write: (writer) => {
      if (flexible) writer.compactArrayLength(-1)
      else writer.arrayLength(-1)
    },
  }
  return withNull(field, target, path, value, orNull)
}

/** A struct that may be null has a byte before it: 1 when there is one, -1 for null. */
function structCodec(field: AnyField, target: CodecTarget, path: string): Codec {
  assert(field.fields !== undefined, 'a struct has fields')
  const codec = compileStruct(field.fields, target, path)
  if (target.version < field.nullable) return withNull(field, target, path, codec, codec)
  const value: Codec = {
    read: codec.read,
    write: (writer, given) => {
      writer.int8(1)
      codec.write(writer, given)
    },
  }
  const orNull: Codec = {
    read: (reader) => (reader.int8() < 0 ? null : codec.read(reader)),
    write: (writer) => writer.int8(-1),
  }
  return withNull(field, target, path, value, orNull)
}

/** Makes a fresh default for each message: decoded arrays and structs belong to their reader. */
function defaultOf(field: AnyField): () => unknown {
  if (field.default !== undefined) return () => field.default
  if (field.kind === 'array') return () => []
  assert(field.fields !== undefined, 'a field without a default is an array or a struct')
  const makers = Object.entries(field.fields).map(([name, one]) => [name, defaultOf(one)] as const)
  return () => {
    const values: Values = {}
    for (const [name, make] of makers) values[name] = make()
    return values
  }
}

function isDefault(field: AnyField): (value: unknown) => boolean {
  if (field.default === null) return (value) => value === null
  if (field.kind === 'array') return (value) => (value as readonly unknown[] | null)?.length === 0
  if (field.kind === 'bytes') return (value) => (value as Uint8Array | null)?.length === 0
  if (field.kind !== 'struct') return (value) => value === field.default
  assert(field.fields !== undefined, 'a struct has fields')
  const tests = Object.entries(field.fields).map(([name, one]) => [name, isDefault(one)] as const)
  return (value) =>
    value !== null &&
    tests.every(([name, test]) => {
      const part = (value as Values)[name]
      return part === undefined || test(part)
    })
}

function unsupported(target: CodecTarget, field: string, detail: string): never {
  throw new StreamsError('PROTOCOL_UNSUPPORTED_VERSION', {
    api: target.name,
    version: target.version,
    field,
    detail,
  })
}

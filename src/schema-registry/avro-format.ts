import type * as avsc from 'avsc'
import { shownValue } from '../base/shown-value.ts'
import { messageOf } from '../errors.ts'
import { countCheck } from './avro-counts.ts'
import { AvroTypes } from './avro-types.ts'
import type { AnyAvroLogicalType } from './avro-values.ts'
import type { LongForm } from './long-form.ts'
import type { CompleteSchema, SchemaText } from './registered-schema.ts'
import { assertNames, invalidOption } from './registry-options.ts'
import type { PayloadReader, PayloadWriter, SchemaFormat, SubjectOptions } from './schema-format.ts'
import { ownSchema, subjectNames } from './subject-options.ts'
import { prefixBytes, writePrefix } from './wire-format.ts'

/** The options of an Avro serde. */
export interface AvroOptions extends SubjectOptions {
  /**
   * The schema to write with, and to which everything that is read is brought, whatever version wrote it:
   * JSON text, or what that describes. Absent: the latest version of the subject at the first record is
   * written, and what is read has the fields that its writer gave it.
   */
  readonly schema?: string | object
  /**
   * How `long` stands in the program. `number` (default): a number beyond 2^53 is an error and never
   * rounded. `bigint`: all of them are bigints.
   */
  readonly longs?: LongForm
  /** Hooks by the name of the logical type. Default: values stand as the type that lies below. */
  readonly logicalTypes?: Readonly<Record<string, AnyAvroLogicalType>>
}

/** Bytes for which there is room before the first value was written. */
const scratchBytes = 1024
/** Values up to this size make more room for those after them. */
const scratchBytesMax = 256 * 1024

/** The room that values are written into before their bytes are copied out; values are written one by one. */
let scratch = Buffer.allocUnsafe(scratchBytes)

export class AvroFormat<T> implements SchemaFormat<T> {
  readonly name = 'avro'
  readonly type = 'AVRO'
  readonly needsWriter = true
  readonly own: SchemaText | undefined
  readonly #types: AvroTypes

  constructor(options: AvroOptions) {
    assertNames(options, [...subjectNames, 'longs', 'logicalTypes'], 'avro')
    const { longs = 'number', logicalTypes = {} } = options
    if (longs !== 'number' && longs !== 'bigint') {
      throw invalidOption('longs', "it must be 'number' or 'bigint'")
    }
    assertHooks(logicalTypes)
    this.own = ownSchema('AVRO', options, schemaText(options.schema))
    this.#types = new AvroTypes({ longs, logicalTypes })
  }

  writer(schema: CompleteSchema): PayloadWriter<T> {
    const type = this.#types.typeOf(schema)
    // As Confluent's serdes have it: bytes alone stand as they are, without a length.
    if (type.typeName === 'bytes') return writeBytes
    return (id, value) => {
      try {
        return write(type, id, value)
      } catch (error) {
        throw writeFailure(type, value, error)
      }
    }
  }

  reader({
    written,
    own,
  }: {
    readonly written: CompleteSchema
    readonly own: CompleteSchema | undefined
  }): PayloadReader<T> {
    const writtenType = this.#types.typeOf(written)
    const readType = own === undefined ? writtenType : this.#ownType(own, writtenType)
    const resolver = own === undefined ? undefined : this.#types.resolver(readType, writtenType)
    if (writtenType.typeName === 'bytes') return bytesReader(readType, resolver)
    const check = countCheck(writtenType)
    return (bytes) => {
      check?.(bytes, prefixBytes)
      // The library copies what becomes bytes in the value.
      const { buffer, byteOffset, length } = bytes
      const payload = Buffer.from(buffer, byteOffset + prefixBytes, length - prefixBytes)
      return readType.fromBuffer(payload, resolver) as T
    }
  }

  /** As in Java, the outermost record is what it is read as, whatever its name was. */
  #ownType(own: CompleteSchema, written: avsc.Type): avsc.Type {
    const type = this.#types.typeOf(own)
    const isRenamed =
      type.typeName === 'record' && written.typeName === 'record' && type.name !== written.name
    return isRenamed && written.name !== undefined ? this.#types.typeOf(own, written.name) : type
  }
}

function write(type: avsc.Type, id: number, value: unknown): Buffer {
  const end = type.encode(value, scratch, prefixBytes)
  // How much room is missing is told as a negative number.
  if (end < 0) return writeLong(type, id, { value, size: scratch.length - end })
  writePrefix(scratch, id)
  return Buffer.from(scratch.subarray(0, end))
}

function writeLong(
  type: avsc.Type,
  id: number,
  { value, size }: { value: unknown; size: number },
): Buffer {
  const bytes = Buffer.allocUnsafe(size)
  type.encode(value, bytes, prefixBytes)
  writePrefix(bytes, id)
  if (size <= scratchBytesMax) scratch = Buffer.allocUnsafe(2 * size)
  return bytes
}

/** The library says what is wrong, but not where. */
function writeFailure(type: avsc.Type, value: unknown, cause: unknown): Error {
  let first: string | undefined
  type.isValid(value, {
    errorHook: (path, part, expected) => {
      const name = expected.name ?? expected.typeName.replace(/^(?:abstract|logical|union):/, '')
      const place = path.length === 0 ? 'the value' : path.join('.')
      first ??= `${place}: ${shownValue(part)} is not of the type ${name}`
    },
  })
  return new Error(first ?? messageOf(cause), { cause })
}

function writeBytes(id: number, value: unknown): Buffer {
  if (!(value instanceof Uint8Array)) throw new Error('the value is not bytes')
  const bytes = Buffer.allocUnsafe(prefixBytes + value.length)
  writePrefix(bytes, id)
  bytes.set(value, prefixBytes)
  return bytes
}

/** What a program reads of bytes that stand without a length: the library wants one. */
function bytesReader<T>(type: avsc.Type, resolver: avsc.Resolver | undefined): PayloadReader<T> {
  return (bytes) => {
    const payload = Buffer.from(bytes.subarray(prefixBytes))
    if (type.typeName === 'bytes') return payload as T
    return type.fromBuffer(lengthAndBytes(payload), resolver) as T
  }
}

function lengthAndBytes(payload: Buffer): Buffer {
  const length: number[] = []
  for (let rest = payload.length * 2; ; rest = Math.floor(rest / 128)) {
    if (rest < 128) {
      length.push(rest)
      return Buffer.concat([Buffer.from(length), payload])
    }
    length.push((rest % 128) + 128)
  }
}

const primitive = /^(?:null|boolean|int|long|float|double|bytes|string)$/

function schemaText(schema: unknown): string | undefined {
  // The name of a type is JSON only in quotes.
  if (typeof schema === 'string') return primitive.test(schema) ? JSON.stringify(schema) : schema
  if (schema === undefined) return undefined
  if (typeof schema === 'object' && schema !== null) return JSON.stringify(schema)
  throw invalidOption('schema', 'it must be JSON text, or an object')
}

function assertHooks(hooks: unknown): void {
  if (typeof hooks !== 'object' || hooks === null) {
    throw invalidOption('logicalTypes', 'it must be an object of { fromAvro, toAvro } by name')
  }
  for (const [name, hook] of Object.entries(hooks as Record<string, unknown>)) {
    const { fromAvro, toAvro } = (hook ?? {}) as Readonly<Record<string, unknown>>
    if (typeof fromAvro === 'function' && typeof toAvro === 'function') continue
    throw invalidOption(`logicalTypes.${name}`, 'it must be { fromAvro, toAvro }, two functions')
  }
}

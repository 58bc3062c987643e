/**
 * Lists (org.apache.kafka.common.serialization.ListSerializer and ListDeserializer). One byte says
 * how the elements stand, as a Java int each number:
 *
 *     0  null count, index of each null, size, elements that are not null, all of one length
 *     1  size, for each element its length (-1: null) and its bytes
 */
import { StreamsError } from '../errors.ts'
import { asBuffer, concatBytes } from '../base/bytes.ts'
import { assertSerde } from './assert-serde.ts'
import { withoutNull } from './nullable.ts'
import {
  doubleSerde,
  floatSerde,
  intSerde,
  longSerde,
  bigintSerde,
  shortSerde,
} from './number-serdes.ts'
import { deserializeError, serializeError, shown } from './serde-error.ts'
import type { Serde } from './serde.ts'
import { uuidSerde } from './uuid-serde.ts'

const constantSize = 0
const variableSize = 1
const nullLength = -1

/** The serdes whose elements Java writes without lengths, with their sizes. */
const elementSizes: ReadonlyMap<unknown, number> = new Map<unknown, number>([
  [shortSerde, 2],
  [intSerde, 4],
  [longSerde, 8],
  [bigintSerde, 8],
  [floatSerde, 4],
  [doubleSerde, 8],
  [uuidSerde, 36],
])

/** Reads Java ints, and never past the end. */
class ListReader {
  readonly #name: string
  readonly #bytes: Buffer
  #position = 0

  constructor(name: string, bytes: Uint8Array) {
    this.#name = name
    this.#bytes = asBuffer(bytes)
  }

  get remaining(): number {
    return this.#bytes.length - this.#position
  }

  take(length: number): Buffer {
    if (length > this.remaining) throw this.error('the bytes end too early')
    const end = this.#position + length
    const taken = this.#bytes.subarray(this.#position, end)
    this.#position = end
    return taken
  }

  byte(): number {
    return this.take(1)[0] as number
  }

  int(): number {
    return this.take(4).readInt32BE()
  }

  /** A count of things of which each takes at least `leastBytes`. */
  count(what: string, leastBytes: number): number {
    const count = this.int()
    if (count < 0) throw this.error(`${what} is ${count}`)
    if (count * leastBytes > this.remaining) throw this.error(`${what} is ${count}: too many`)
    return count
  }

  end(): void {
    if (this.remaining > 0) throw this.error(`${this.remaining} bytes follow the last element`)
  }

  error(detail: string): StreamsError {
    return deserializeError(this.#name, detail)
  }
}

function int(value: number): Buffer {
  const bytes = Buffer.allocUnsafe(4)
  bytes.writeInt32BE(value)
  return bytes
}

/** `| null` only where the inner serde says so; the format has it always. */
type Elements<T> = readonly (T | null)[]

function serializeConstant<T>(inner: Serde<T>, values: Elements<T>): Buffer {
  const nulls: Buffer[] = []
  const elements: Uint8Array[] = []
  for (const [index, value] of values.entries()) {
    if (value === null) nulls.push(int(index))
    else elements.push(inner.serialize(value))
  }
  const head = [Buffer.from([constantSize]), int(nulls.length), ...nulls, int(values.length)]
  return concatBytes([...head, ...elements])
}

function serializeVariable<T>(inner: Serde<T>, values: Elements<T>): Buffer {
  const parts: Uint8Array[] = [Buffer.from([variableSize]), int(values.length)]
  for (const value of values) {
    if (value === null) {
      parts.push(int(nullLength))
      continue
    }
    const bytes = inner.serialize(value)
    parts.push(int(bytes.length), bytes)
  }
  return concatBytes(parts)
}

function deserializeConstant<T>(reader: ListReader, inner: Serde<T>, size: number): (T | null)[] {
  const nullCount = reader.count('the number of nulls', 4)
  const nulls = new Set<number>()
  for (let read = 0; read < nullCount; read += 1) nulls.add(reader.int())
  const count = reader.count('the size', 0)
  if ((count - nulls.size) * size > reader.remaining) {
    throw reader.error(`the size is ${count}: too many`)
  }
  const values: (T | null)[] = []
  for (let index = 0; index < count; index += 1) {
    values.push(nulls.has(index) ? null : inner.deserialize(reader.take(size)))
  }
  return values
}

function deserializeVariable<T>(reader: ListReader, inner: Serde<T>): (T | null)[] {
  const count = reader.count('the size', 4)
  const values: (T | null)[] = []
  for (let index = 0; index < count; index += 1) {
    const length = reader.int()
    if (length < nullLength) throw reader.error(`the length of element ${index} is ${length}`)
    values.push(length === nullLength ? null : inner.deserialize(reader.take(length)))
  }
  return values
}

/**
 * Makes a serde for arrays. An element may be null when the inner serde is `nullable`.
 *
 * @example
 * const tags = serdes.list(serdes.string)
 */
export function listSerde<T>(inner: Serde<T>): Serde<T[]> {
  assertSerde(inner, { part: 'value', of: 'serdes.list()' })
  const name = `list(${inner.name})`
  const size = elementSizes.get(withoutNull(inner))
  const elementBytes = inner.sizeOf
  return Object.freeze({
    name,
    serialize: (values: T[]): Buffer => {
      if (!Array.isArray(values)) throw serializeError(name, `${shown(values)} is not an array`)
      return size === undefined
        ? serializeVariable(inner, values)
        : serializeConstant(inner, values)
    },
    deserialize: (bytes: Uint8Array): T[] => {
      const reader = new ListReader(name, bytes)
      const strategy = reader.byte()
      const isConstant = strategy === constantSize
      if (!isConstant && strategy !== variableSize) {
        throw reader.error(`the first byte is ${strategy}, not 0 or 1`)
      }
      if (isConstant && size === undefined) {
        throw reader.error(`elements without lengths, but ${inner.name} has no fixed size`)
      }
      const values =
        isConstant && size !== undefined
          ? deserializeConstant(reader, inner, size)
          : deserializeVariable(reader, inner)
      reader.end()
      return values as T[]
    },
    ...(elementBytes && {
      // Others may have written nulls, whatever the type of the elements says.
      sizeOf: (values: Elements<T>) =>
        values.reduce<number>((sum, value) => sum + (value === null ? 0 : elementBytes(value)), 32),
    }),
  })
}

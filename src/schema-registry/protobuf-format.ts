import type * as protobuf from 'protobufjs'
import type { LongForm } from './long-form.ts'
import { optionalLibrary } from './optional-library.ts'
import { ProtobufFile, fullNameOf } from './protobuf-file.ts'
import { MessageValues } from './protobuf-values.ts'
import type { CompleteSchema, SchemaText } from './registered-schema.ts'
import { assertNames, invalidOption } from './registry-options.ts'
import type { PayloadReader, PayloadWriter, SchemaFormat, SubjectOptions } from './schema-format.ts'
import { ownSchema, subjectNames } from './subject-options.ts'
import { messageStepsBytes, prefixBytes, readMessageSteps, writePrefix } from './wire-format.ts'

/** The options of a Protobuf serde. */
export interface ProtobufOptions extends SubjectOptions {
  /**
   * The text of the .proto file to write and to read by. Absent: what is written is written by the latest
   * version of the subject at the first record, and what is read by the schema of its writer.
   */
  readonly schema?: string
  /**
   * Which message of the file the values are, with or without its package; one within another as
   * `Outer.Inner`. Default: the first one. Values of other messages are refused.
   */
  readonly messageType?: string
  /**
   * How numbers of 64 bits stand in the program. `number` (default): a number beyond 2^53 is an error
   * and never rounded. `bigint`: all of them are bigints.
   */
  readonly longs?: LongForm
}

type Protobufjs = typeof protobuf

export class ProtobufFormat<T> implements SchemaFormat<T> {
  readonly name = 'protobuf'
  readonly type = 'PROTOBUF'
  readonly needsWriter = true
  readonly own: SchemaText | undefined
  readonly #messageType: string | undefined
  readonly #longs: LongForm
  readonly #library: Protobufjs

  constructor(options: ProtobufOptions) {
    assertNames(options, [...subjectNames, 'messageType', 'longs'], 'protobuf')
    const { schema, messageType, longs = 'number' } = options
    if (schema !== undefined && typeof schema !== 'string') {
      throw invalidOption('schema', 'it must be the text of a .proto file')
    }
    if (messageType !== undefined && (typeof messageType !== 'string' || messageType === '')) {
      throw invalidOption('messageType', 'it must be the name of a message')
    }
    if (longs !== 'number' && longs !== 'bigint') {
      throw invalidOption('longs', "it must be 'number' or 'bigint'")
    }
    this.own = ownSchema('PROTOBUF', options, schema)
    this.#messageType = messageType
    this.#longs = longs
    this.#library = optionalLibrary('protobufjs', 'Protobuf') as Protobufjs
  }

  writer(schema: CompleteSchema): PayloadWriter<T> {
    const file = new ProtobufFile(schema)
    const type = file.message(this.#messageType)
    const values = this.#valuesOf(type)
    const steps = messageStepsBytes(file.stepsOf(type))
    const start = prefixBytes + steps.length
    return (id, value) => {
      const payload = type.encode(values.write(value)).finish()
      const bytes = Buffer.allocUnsafe(start + payload.length)
      writePrefix(bytes, id)
      bytes.set(steps, prefixBytes)
      bytes.set(payload, start)
      return bytes
    }
  }

  reader({
    written,
    own,
  }: {
    readonly written: CompleteSchema
    readonly own: CompleteSchema | undefined
  }): PayloadReader<T> {
    const file = new ProtobufFile(written)
    const ownType = own === undefined ? undefined : new ProtobufFile(own).message(this.#messageType)
    const readers = new Map<string, (payload: Uint8Array) => T>()
    return (bytes) => {
      const { steps, start } = readMessageSteps(bytes)
      const place = steps.length === 1 ? String(steps[0]) : steps.join('.')
      let read = readers.get(place)
      if (read === undefined) {
        read = this.#messageReader(file.messageAt(steps), ownType)
        readers.set(place, read)
      }
      return read(bytes.subarray(start))
    }
  }

  #messageReader(
    written: protobuf.Type,
    own: protobuf.Type | undefined,
  ): (payload: Uint8Array) => T {
    const name = fullNameOf(written)
    const expected = own === undefined ? this.#messageType : fullNameOf(own)
    if (expected !== undefined && name !== expected && !name.endsWith(`.${expected}`)) {
      throw new Error(`the value is a message ${name}, and not ${expected}`)
    }
    const type = own ?? written
    const values = this.#valuesOf(type)
    return (payload) => values.read(type.decode(payload)) as T
  }

  #valuesOf(type: protobuf.Type): MessageValues {
    return new MessageValues(type, { longs: this.#longs, library: this.#library })
  }
}

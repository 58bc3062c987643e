import { StreamsError, isStreamsError, messageOf } from '../errors.ts'
import { serdeError } from '../serde/serde-error.ts'
import type { Serde, SerdeText } from '../serde/serde.ts'
import type { Exchange } from './exchange.ts'
import { keyText } from './key-text.ts'
import { run, runNow, type Lookup } from './lookup.ts'
import type { CompleteSchema, RegisteredSchema, SchemaText } from './registered-schema.ts'
import type { RegistryClient } from './registry-client.ts'
import type { PayloadReader, PayloadWriter, SchemaFormat } from './schema-format.ts'
import { readSchemaId } from './wire-format.ts'

/** Versions that are asked for at a time. */
const versionsAtOnce = 8

/** Under which the reader is kept that does not depend on what a value was written with. */
const anyId = -1

/** A serde whose schemas are in a registry. Its bytes are those of Confluent's serdes in Java. */
export interface RegistrySerde<T> extends Serde<T> {
  /** `avro(orders-value)`: the language and the subject. */
  readonly name: string
  /**
   * Finds out now what would be found out with the first records: the schema to write with, and all
   * versions of the subject to read with. Without it the thread is held up then, once for each id.
   *
   * @throws `SCHEMA_REGISTRY_…` when the registry cannot be asked, or a schema be used.
   */
  load(): Promise<void>
}

/** What a serde is made of. */
export interface RegistrySerdeParts<T> {
  readonly subject: string
  readonly register: boolean
  readonly format: SchemaFormat<T>
  readonly client: RegistryClient
  readonly exchange: Exchange
}

/** The schema to write with. */
interface Writer<T> {
  readonly id: number
  readonly write: PayloadWriter<T>
}

export class SubjectSerde<T> implements RegistrySerde<T> {
  readonly name: string
  readonly text: SerdeText<T> = keyText()
  readonly #parts: RegistrySerdeParts<T>
  readonly #readers = new Map<number, PayloadReader<T>>()
  #writer: Writer<T> | undefined
  #own: CompleteSchema | undefined

  constructor(parts: RegistrySerdeParts<T>) {
    this.#parts = parts
    this.name = `${parts.format.name}(${parts.subject})`
  }

  serialize(value: T): Buffer {
    const writer = this.#writer ?? runNow(this.#parts.exchange, this.#findWriter())
    try {
      return writer.write(writer.id, value)
    } catch (error) {
      throw serdeError(this.name, 'serialize', error)
    }
  }

  deserialize(bytes: Uint8Array): T {
    let id: number | undefined
    try {
      id = readSchemaId(bytes)
      const { format, exchange } = this.#parts
      const key = format.needsWriter ? id : anyId
      const read = this.#readers.get(key) ?? runNow(exchange, this.#findReader(id))
      return read(bytes)
    } catch (error) {
      if (isStreamsError(error)) throw error
      const detail = id === undefined ? messageOf(error) : `schema id ${id}: ${messageOf(error)}`
      const context = { serde: this.name, operation: 'deserialize', detail }
      throw new StreamsError('SERDE_FAILED', context, { cause: error })
    }
  }

  async load(): Promise<void> {
    const { client, exchange, subject, format } = this.#parts
    client.forgetFailures()
    await run(exchange, this.#loadOwn())
    if (!format.needsWriter) return
    const versions = await this.#unlessMissing(run(exchange, client.versions(subject)))
    for (let at = 0; at < (versions?.length ?? 0); at += versionsAtOnce) {
      const some = versions?.slice(at, at + versionsAtOnce) ?? []
      await Promise.all(some.map((version) => run(exchange, this.#loadVersion(version))))
    }
  }

  *#loadOwn(): Lookup<void> {
    const { format } = this.#parts
    try {
      yield* this.#findWriter()
    } catch (error) {
      // Whoever only reads by a schema of his own needs none in the registry.
      if (format.own === undefined || !isMissing(error)) throw error
      yield* this.#completeOwn()
    }
  }

  *#loadVersion(version: number): Lookup<void> {
    const { client, subject } = this.#parts
    const { id } = yield* client.version(subject, version)
    try {
      yield* this.#findReader(id)
    } catch (error) {
      // Perhaps no record was ever written with it; if one was, it says the same.
      if (!isStreamsError(error, 'SCHEMA_REGISTRY_SCHEMA_INVALID')) throw error
    }
  }

  async #unlessMissing<R>(answer: Promise<R>): Promise<R | undefined> {
    try {
      return await answer
    } catch (error) {
      if (isMissing(error)) return undefined
      throw error
    }
  }

  *#findWriter(): Lookup<Writer<T>> {
    const { format, subject, client } = this.#parts
    const { id, schema } = yield* this.#findWritten()
    const about = `the schema to write the subject ${subject} with`
    this.#assertLanguage(schema, about)
    const own = schema === format.own ? yield* this.#completeOwn() : undefined
    const complete = own ?? (yield* client.complete(schema))
    const writer = { id, write: usable(about, () => format.writer(complete)) }
    this.#writer = writer
    return writer
  }

  *#findWritten(): Lookup<{ id: number; schema: SchemaText | RegisteredSchema }> {
    const { format, subject, register, client } = this.#parts
    const { own } = format
    if (own === undefined) {
      const schema = yield* client.latest(subject)
      return { id: schema.id, schema }
    }
    const id = register ? yield* client.register(subject, own) : yield* client.idOf(subject, own)
    return { id, schema: own }
  }

  *#findReader(id: number): Lookup<PayloadReader<T>> {
    const { format, subject, client } = this.#parts
    const own = yield* this.#completeOwn()
    const about = `the schema id ${id} for ${this.name}`
    let written: CompleteSchema | undefined
    if (format.needsWriter) {
      const schema = yield* client.schemaById(id, subject)
      this.#assertLanguage(schema, about)
      written = yield* client.complete(schema)
    }
    const reader = this.#madeReader(about, written, own)
    this.#readers.set(format.needsWriter ? id : anyId, reader)
    return reader
  }

  /** What cannot be read by one schema is told for each of its records, without trying again. */
  #madeReader(
    about: string,
    written: CompleteSchema | undefined,
    own: CompleteSchema | undefined,
  ): PayloadReader<T> {
    try {
      return usable(about, () => this.#parts.format.reader({ written, own }))
    } catch (error) {
      return () => {
        throw error
      }
    }
  }

  *#completeOwn(): Lookup<CompleteSchema | undefined> {
    const { format, client } = this.#parts
    if (format.own === undefined) return undefined
    this.#own ??= yield* client.complete(format.own)
    return this.#own
  }

  #assertLanguage(schema: SchemaText, about: string): void {
    const { type } = this.#parts.format
    if (schema.type === type) return
    throw new StreamsError('SCHEMA_REGISTRY_SCHEMA_INVALID', {
      about,
      detail: `it is a schema of type ${schema.type}, and ${this.name} is for ${type}`,
    })
  }
}

function usable<R>(about: string, make: () => R): R {
  try {
    return make()
  } catch (error) {
    if (isStreamsError(error)) throw error
    const context = { about, detail: messageOf(error) }
    throw new StreamsError('SCHEMA_REGISTRY_SCHEMA_INVALID', context, { cause: error })
  }
}

function isMissing(error: unknown): boolean {
  return isStreamsError(error, 'SCHEMA_REGISTRY_NOT_FOUND')
}

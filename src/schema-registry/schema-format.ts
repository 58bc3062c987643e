import type { CompleteSchema, SchemaText, SchemaType } from './registered-schema.ts'

/** What a program says about the schema of a serde, in whatever language. */
export interface SubjectOptions {
  /** The subject in the registry: by custom `<topic>-key` or `<topic>-value`. */
  readonly subject: string
  /**
   * False (default): the schema must be in the registry already. True: it is registered, as a new
   * version when it is none yet, before anything is written.
   */
  readonly register?: boolean
  /** What `schema` refers to, by the names that it uses. */
  readonly references?: readonly SchemaReferenceOption[]
}

/** A schema that another one refers to: the name that is used there, and where it is registered. */
export interface SchemaReferenceOption {
  readonly name: string
  readonly subject: string
  readonly version: number
}

/** Writes what follows the schema id. */
export type PayloadWriter<T> = (id: number, value: T) => Buffer

/** Reads a whole value, whose first five bytes were looked at. The bytes are borrowed. */
export type PayloadReader<T> = (bytes: Uint8Array) => T

/** One language of schemas: how values become bytes by a schema, and back. */
export interface SchemaFormat<T> {
  /** In the names of serdes. */
  readonly name: 'avro' | 'protobuf' | 'json'
  readonly type: SchemaType
  /** Whether values can be read only with the schema that they were written with. */
  readonly needsWriter: boolean
  /** The schema that the program stated; undefined: the latest one of the subject. */
  readonly own: SchemaText | undefined
  /** Throws an Error with a plain sentence when the schema is of no use. */
  writer(schema: CompleteSchema): PayloadWriter<T>
  /** `written` is undefined where it is not needed, `own` where the program states none. */
  reader(schemas: {
    readonly written: CompleteSchema | undefined
    readonly own: CompleteSchema | undefined
  }): PayloadReader<T>
}

/** The languages of schemas, as a registry names them. */
export type SchemaType = 'AVRO' | 'PROTOBUF' | 'JSON'

/**
 * A part of a schema that is a schema of its own, in the registry. `name` is how the schema speaks of
 * it: in Avro the full name of the type, in Protobuf the path of the import, in JSON Schema the `$ref`.
 */
export interface SchemaReference {
  readonly name: string
  readonly subject: string
  readonly version: number
}

/** A schema as a registry holds it. */
export interface SchemaText {
  readonly type: SchemaType
  readonly text: string
  readonly references: readonly SchemaReference[]
}

export interface RegisteredSchema extends SchemaText {
  readonly id: number
}

/** A schema with the texts of all that it refers to, directly or not. */
export interface CompleteSchema {
  readonly text: string
  /** Each before those that refer to it. */
  readonly parts: readonly SchemaPart[]
}

export interface SchemaPart {
  readonly name: string
  readonly text: string
}

/** Schemas of Avro as types of the library `avsc`, which reads and writes by them. */
import type * as avsc from 'avsc'
import { bigintType, numberType } from './avro-longs.ts'
import type { AnyAvroLogicalType } from './avro-values.ts'
import type { LongForm } from './long-form.ts'
import { optionalLibrary } from './optional-library.ts'
import type { CompleteSchema } from './registered-schema.ts'

export interface AvroTypesOptions {
  readonly longs: LongForm
  readonly logicalTypes: Readonly<Record<string, AnyAvroLogicalType>>
}

type Avsc = typeof avsc
type Attributes = Record<string, unknown>

/** Makes types of schemas, all in the same way. */
export class AvroTypes {
  readonly #avsc: Avsc
  readonly #logicalTypes: Record<string, new (schema: avsc.Schema, options: unknown) => avsc.Type>
  readonly #long: avsc.Type
  readonly #bigints: boolean
  /** Parts of schemas whose logical type is being made: what lies below it is asked for next. */
  readonly #opened = new WeakSet<object>()

  constructor({ longs, logicalTypes }: AvroTypesOptions) {
    this.#avsc = optionalLibrary('avsc', 'Avro') as Avsc
    this.#bigints = longs === 'bigint'
    this.#long = this.#bigints ? bigintType(this.#avsc) : numberType(this.#avsc)
    this.#logicalTypes = Object.fromEntries(
      Object.entries(logicalTypes).map(([name, hook]) => [name, this.#logicalClass(hook)]),
    )
  }

  /**
   * The type of a schema. `alias`: another name of the record that it is.
   *
   * @throws an Error that says what is wrong with the schema.
   */
  typeOf(schema: CompleteSchema, alias?: string): avsc.Type {
    const registry: Record<string, avsc.Type> = {}
    for (const { name, text } of schema.parts) {
      try {
        this.#make(parsedSchema(text), registry)
      } catch (error) {
        throw new Error(`its part ${name}: ${(error as Error).message}`, { cause: error })
      }
    }
    const own = parsedSchema(schema.text)
    return this.#make(alias === undefined ? own : withAlias(own, alias), registry)
  }

  /** Reads what `written` wrote as what `read` describes. Throws an Error when that is not possible. */
  resolver(read: avsc.Type, written: avsc.Type): avsc.Resolver {
    // As in Java, a record is the same when its name is, in whatever namespace.
    const options = { ignoreNamespaces: true } as Record<string, unknown>
    return (read as unknown as ResolvingType).createResolver(written, options)
  }

  #make(schema: unknown, registry: Record<string, avsc.Type>): avsc.Type {
    return this.#avsc.Type.forSchema(
      schema as avsc.Schema,
      {
        registry,
        logicalTypes: this.#logicalTypes,
        typeHook: (part: unknown) => this.#longInstead(part),
        omitRecordMethods: true,
      } as unknown as avsc.ForSchemaOptions,
    )
  }

  /** The type that holds longs as the program wants them, for the part of a schema that is a long. */
  #longInstead(part: unknown): avsc.Type | undefined {
    if (part === 'long') return this.#long
    const { type, logicalType } = (part ?? {}) as { type?: unknown; logicalType?: unknown }
    if (type !== 'long') return undefined
    const isHooked =
      typeof logicalType === 'string' && Object.hasOwn(this.#logicalTypes, logicalType)
    return isHooked && !this.#opened.has(part as object) ? undefined : this.#long
  }

  #logicalClass(
    hook: AnyAvroLogicalType,
  ): new (schema: avsc.Schema, options: unknown) => avsc.Type {
    const opened = this.#opened
    const bigints = this.#bigints
    return class HookedType extends this.#avsc.types.LogicalType {
      readonly attributes: Attributes

      constructor(schema: avsc.Schema, options: unknown) {
        opened.add(schema as object)
        super(schema, options as ConstructorParameters<typeof avsc.types.LogicalType>[1])
        this.attributes = schema as unknown as Attributes
      }

      protected override _fromValue(stored: unknown): unknown {
        return hook.fromAvro(stored, this.attributes)
      }

      protected override _toValue(value: unknown): unknown {
        return hook.toAvro(value, this.attributes)
      }

      /** From the same logical type, which has made its value already, or from what lies below. */
      protected override _resolve(written: avsc.Type): ((value: unknown) => unknown) | undefined {
        if (written.typeName === this.typeName) return (value) => value
        const below = this.underlyingType
        below.createResolver(written)
        const isWidened = bigints && below.typeName.endsWith('long')
        return (value) =>
          this._fromValue(isWidened && typeof value === 'number' ? BigInt(value) : value)
      }
    }
  }
}

interface ResolvingType {
  createResolver(type: avsc.Type, options: Record<string, unknown>): avsc.Resolver
}

function parsedSchema(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error('it is not JSON', { cause: error })
  }
}

function withAlias(schema: unknown, alias: string): unknown {
  const { aliases } = schema as { aliases?: unknown }
  return { ...(schema as object), aliases: [...(Array.isArray(aliases) ? aliases : []), alias] }
}

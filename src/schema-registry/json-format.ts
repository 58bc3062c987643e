import { asBuffer } from '../base/bytes.ts'
import type { Ajv, ErrorObject, ValidateFunction } from 'ajv'
import { optionalLibrary } from './optional-library.ts'
import type { CompleteSchema, SchemaText } from './registered-schema.ts'
import { assertNames, invalidOption } from './registry-options.ts'
import type { PayloadReader, PayloadWriter, SchemaFormat, SubjectOptions } from './schema-format.ts'
import { ownSchema, subjectNames } from './subject-options.ts'
import { prefixBytes, writePrefix } from './wire-format.ts'

/** The options of a serde for JSON with a schema. */
export interface JsonOptions extends SubjectOptions {
  /**
   * The JSON Schema to validate by: its text, or what that describes. Absent: the latest version of the
   * subject at the first record is written.
   */
  readonly schema?: string | object
  /**
   * `on-write` (default): values are validated before they are written. `always`: also when they are
   * read, by `schema` or, without one, by the schema that they were written with.
   */
  readonly validate?: 'on-write' | 'always'
}

type Check = (value: unknown) => void

/** What is wrong that is listed before the rest is left out. */
const errorsShownMax = 3

export class JsonFormat<T> implements SchemaFormat<T> {
  readonly name = 'json'
  readonly type = 'JSON'
  readonly needsWriter: boolean
  readonly own: SchemaText | undefined
  readonly #validatesReads: boolean

  constructor(options: JsonOptions) {
    assertNames(options, [...subjectNames, 'validate'], 'json')
    const { validate = 'on-write' } = options
    if (validate !== 'on-write' && validate !== 'always') {
      throw invalidOption('validate', "it must be 'on-write' or 'always'")
    }
    this.own = ownSchema('JSON', options, schemaText(options.schema))
    this.#validatesReads = validate === 'always'
    this.needsWriter = this.#validatesReads && this.own === undefined
    optionalLibrary('ajv', 'JSON Schema')
  }

  writer(schema: CompleteSchema): PayloadWriter<T> {
    const check = checkOf(schema)
    return (id, value) => {
      check(value)
      const text = JSON.stringify(value) as string | undefined
      if (text === undefined) throw new Error('the value has no JSON form')
      const bytes = Buffer.allocUnsafe(prefixBytes + Buffer.byteLength(text))
      writePrefix(bytes, id)
      bytes.write(text, prefixBytes)
      return bytes
    }
  }

  reader({
    written,
    own,
  }: {
    readonly written: CompleteSchema | undefined
    readonly own: CompleteSchema | undefined
  }): PayloadReader<T> {
    const schema = own ?? written
    const check = this.#validatesReads && schema !== undefined ? checkOf(schema) : undefined
    return (bytes) => {
      const text = asBuffer(bytes)
      const value = JSON.parse(text.toString('utf8', prefixBytes)) as T
      check?.(value)
      return value
    }
  }
}

function checkOf(schema: CompleteSchema): Check {
  const own = parsedSchema(schema.text)
  const ajv = ajvFor(own)
  for (const { name, text } of schema.parts) ajv.addSchema(parsedSchema(text) as object, name)
  const validate = ajv.compile(own as object)
  return (value) => assertValid(validate, value)
}

function assertValid(validate: ValidateFunction, value: unknown): void {
  if (validate(value)) return
  const errors = validate.errors ?? []
  const shown = errors.slice(0, errorsShownMax).map(sentenceOf).join('; ')
  const rest = errors.length - errorsShownMax
  throw new Error(rest > 0 ? `${shown}; and ${rest} more` : shown)
}

function sentenceOf({ instancePath, message = 'it is not valid' }: ErrorObject): string {
  return `${instancePath === '' ? 'the value' : instancePath} ${message}`
}

interface AjvModule {
  readonly default: new (options: object) => Ajv
}

/** The versions of the language by what `$schema` says; the library has a module for some of them. */
function ajvFor(schema: unknown): Ajv {
  const dialect = (schema as { $schema?: unknown } | null)?.$schema
  const version =
    typeof dialect === 'string' ? /draft-0\d|draft\/20\d\d/.exec(dialect)?.[0] : undefined
  if (version === 'draft-04' || version === 'draft-03') {
    throw new Error(`JSON Schema ${version} is not supported; use draft-07 or 2020-12`)
  }
  const year = version?.startsWith('draft/') === true ? version.slice('draft/'.length) : undefined
  const path = year === '2019' || year === '2020' ? `ajv/dist/${year}` : 'ajv'
  const { default: AjvOf } = optionalLibrary('ajv', 'JSON Schema', path) as AjvModule
  const ajv = new AjvOf({
    // Schemas in registries have keywords of other programs, such as connect.index.
    strict: false,
    validateFormats: false,
    logger: false,
  })
  if (version === 'draft-06') {
    const draft06 = 'ajv/dist/refs/json-schema-draft-06.json'
    ajv.addMetaSchema(optionalLibrary('ajv', 'JSON Schema', draft06) as object)
  }
  return ajv
}

function parsedSchema(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new Error('it is not JSON', { cause: error })
  }
}

function schemaText(schema: unknown): string | undefined {
  if (schema === undefined || typeof schema === 'string') return schema
  if (typeof schema === 'object' && schema !== null) return JSON.stringify(schema)
  throw invalidOption('schema', 'it must be JSON text, or an object')
}

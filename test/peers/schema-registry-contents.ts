/** What a schema registry holds and what it answers, as Confluent's does for the routes that clients use. */
import avsc from 'avsc'
import protobuf from 'protobufjs'

export interface Reference {
  readonly name: string
  readonly subject: string
  readonly version: number
}

interface Schema {
  readonly schemaType: string
  readonly schema: string
  readonly references: readonly Reference[]
}

interface Version {
  readonly id: number
  readonly version: number
  isDeleted: boolean
}

export interface Reply {
  readonly status: number
  readonly body: unknown
}

class Refusal extends Error {
  readonly reply: Reply

  constructor(status: number, code: number, message: string) {
    super(message)
    this.reply = { status, body: { error_code: code, message } }
  }
}

const nowhere = (): Refusal => new Refusal(404, 404, 'HTTP 404 Not Found')

/** Subjects are checked as under the compatibility level BACKWARD: the new schema reads what the last one wrote. */
export class SchemaRegistryContents {
  readonly #schemas = new Map<number, Schema>()
  readonly #subjects = new Map<string, Version[]>()
  #nextId: number

  constructor(firstId = 1) {
    this.#nextId = firstId
  }

  reply(method: string, url: URL, body: string): Reply {
    try {
      const deleted = url.searchParams.get('deleted') === 'true'
      const steps = url.pathname.split('/').slice(1).map(decodeURIComponent)
      return {
        status: 200,
        body: this.#route(`${method} ${steps.length}`, steps, { body, deleted }),
      }
    } catch (error) {
      if (error instanceof Refusal) return error.reply
      throw error
    }
  }

  #route(
    route: string,
    [root, one = '', two = '', three = '']: string[],
    { body, deleted }: { body: string; deleted: boolean },
  ): unknown {
    if (root === 'schemas' && one === 'ids' && route === 'GET 3') return this.#byId(Number(two))
    if (root !== 'subjects') throw nowhere()
    if (route === 'GET 1') return this.#names(deleted)
    if (route === 'POST 2') return this.#find(one, schemaOf(body))
    if (two !== 'versions') throw nowhere()
    if (route === 'GET 3') return this.#versionsOf(one, deleted).map(({ version }) => version)
    if (route === 'GET 4') return this.#described(one, this.#version(one, three, deleted))
    if (route === 'POST 3') return this.#register(one, schemaOf(body))
    if (route === 'DELETE 4') {
      const version = this.#version(one, three, false)
      version.isDeleted = true
      return version.version
    }
    throw nowhere()
  }

  #names(deleted: boolean): string[] {
    return [...this.#subjects]
      .filter(([, versions]) => versions.some(({ isDeleted }) => deleted || !isDeleted))
      .map(([name]) => name)
  }

  #byId(id: number): unknown {
    const schema = this.#schemas.get(id)
    if (schema === undefined) throw new Refusal(404, 40403, `Schema ${id} not found`)
    return shown(schema)
  }

  #versionsOf(subject: string, deleted: boolean): Version[] {
    const versions = this.#subjects.get(subject)?.filter(({ isDeleted }) => deleted || !isDeleted)
    if (versions === undefined || versions.length === 0) {
      throw new Refusal(404, 40401, `Subject '${subject}' not found.`)
    }
    return versions
  }

  #version(subject: string, version: string, deleted: boolean): Version {
    const versions = this.#versionsOf(subject, deleted)
    if (version === 'latest') return versions.at(-1) as Version
    if (!/^[1-9]\d*$/.test(version)) {
      throw new Refusal(422, 42202, `The specified version '${version}' is not a valid version id.`)
    }
    const found = versions.find((one) => one.version === Number(version))
    if (found === undefined) throw new Refusal(404, 40402, `Version ${version} not found.`)
    return found
  }

  #described(subject: string, { id, version }: Version): unknown {
    return { subject, version, id, ...shown(this.#schemas.get(id) as Schema) }
  }

  #find(subject: string, schema: Schema): unknown {
    const versions = this.#versionsOf(subject, false)
    const found = versions.find(({ id }) => isSame(this.#schemas.get(id) as Schema, schema))
    if (found === undefined) throw new Refusal(404, 40403, 'Schema not found')
    return this.#described(subject, found)
  }

  #register(subject: string, schema: Schema): unknown {
    this.#assertValid(schema)
    const versions = this.#subjects.get(subject) ?? []
    const known = versions.find(
      ({ id, isDeleted }) => !isDeleted && isSame(this.#schemas.get(id) as Schema, schema),
    )
    if (known !== undefined) return { id: known.id }
    const latest = versions.findLast(({ isDeleted }) => !isDeleted)
    if (latest !== undefined) this.#assertCompatible(subject, schema, latest)
    const id = [...this.#schemas].find(([, one]) => isSame(one, schema))?.[0] ?? this.#nextId++
    this.#schemas.set(id, schema)
    versions.push({ id, version: versions.length + 1, isDeleted: false })
    this.#subjects.set(subject, versions)
    return { id }
  }

  #assertValid(schema: Schema): void {
    for (const { subject, version } of schema.references) {
      this.#version(subject, String(version), false)
    }
    try {
      if (schema.schemaType === 'AVRO') this.#avroType(schema)
      else if (schema.schemaType === 'PROTOBUF') protobuf.parse(schema.schema)
      else if (schema.schemaType === 'JSON') JSON.parse(schema.schema)
      else throw new Error(`Invalid schema type ${schema.schemaType}`)
    } catch (error) {
      throw new Refusal(422, 42201, `Invalid schema ${schema.schema}, details: ${String(error)}`)
    }
  }

  #assertCompatible(subject: string, schema: Schema, { id, version }: Version): void {
    const latest = this.#schemas.get(id) as Schema
    if (schema.schemaType !== 'AVRO' || latest.schemaType !== 'AVRO') return
    try {
      this.#avroType(schema).createResolver(this.#avroType(latest))
    } catch (error) {
      const reason = `{errorType:'READER_FIELD_MISSING_DEFAULT_VALUE', description:'${String(error)}'}`
      throw new Refusal(
        409,
        409,
        `Schema being registered is incompatible with an earlier schema for subject "${subject}", ` +
          `details: [${reason}, {oldSchemaVersion: ${version}}, {compatibility: 'BACKWARD'}]`,
      )
    }
  }

  #avroType({ schema, references }: Schema, registry: Record<string, avsc.Type> = {}): avsc.Type {
    for (const { subject, version } of references) {
      const { id } = this.#version(subject, String(version), true)
      this.#avroType(this.#schemas.get(id) as Schema, registry)
    }
    return avsc.Type.forSchema(JSON.parse(schema) as avsc.Schema, { registry })
  }
}

function schemaOf(body: string): Schema {
  const given = JSON.parse(body) as Partial<Schema>
  if (typeof given.schema !== 'string') throw new Refusal(422, 42201, 'Empty schema')
  const { schemaType = 'AVRO', references = [] } = given
  return { schemaType, schema: given.schema, references }
}

/** Avro's type is not said, and lists without members are left out. */
function shown({ schema, schemaType, references }: Schema): object {
  return {
    ...(schemaType === 'AVRO' ? {} : { schemaType }),
    ...(references.length === 0 ? {} : { references }),
    schema,
  }
}

function isSame(one: Schema, other: Schema): boolean {
  return fingerprint(one) === fingerprint(other)
}

function fingerprint({ schema, schemaType, references }: Schema): string {
  const text = schemaType === 'PROTOBUF' ? schema.replaceAll(/\s+/g, ' ') : sorted(schema)
  return JSON.stringify([schemaType, text, references])
}

/** JSON in one spelling. */
function sorted(text: string): string {
  return JSON.stringify(JSON.parse(text), (_name, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)))
      : value,
  )
}

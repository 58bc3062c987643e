import type { RegistryAnswer } from './exchange.ts'
import type { SchemaReference, SchemaType } from './registered-schema.ts'

interface StoredSchema {
  readonly schema: string
  readonly schemaType: SchemaType
  readonly references: readonly SchemaReference[]
}

/** What is registered in this process, by the name of the registry, with how many clients use it. */
const registries = new Map<string, { readonly registry: MockRegistry; clients: number }>()

/**
 * A registry in memory that takes every schema, for tests: the routes that clients use, with the status
 * and the bodies of Confluent's. Ids are given from 1 on, and equal schemas have the same.
 */
export class MockRegistry {
  readonly #byId: StoredSchema[] = []
  readonly #ids = new Map<string, number>()
  /** The ids of the versions of each subject, from version 1 on. */
  readonly #subjects = new Map<string, number[]>()

  /** The registry of that name; it is gone when its last client has let it go. */
  static take(name: string): MockRegistry {
    const entry = registries.get(name) ?? { registry: new MockRegistry(), clients: 0 }
    entry.clients += 1
    registries.set(name, entry)
    return entry.registry
  }

  static release(name: string): void {
    const entry = registries.get(name)
    if (entry === undefined) return
    entry.clients -= 1
    if (entry.clients === 0) registries.delete(name)
  }

  answer(method: string, path: string, body?: string): RegistryAnswer {
    const [route = ''] = path.split('?')
    const steps = route.split('/').slice(1).map(decodeURIComponent)
    const [root, one = '', two, three, ...more] = steps
    if (more.length > 0) return failed(404, 404, 'HTTP 404 Not Found')
    if (method === 'GET' && root === 'schemas' && one === 'ids' && two !== undefined) {
      return this.#byIdAnswer(two)
    }
    if (method === 'GET' && root === 'subjects' && one === '') return ok([...this.#subjects.keys()])
    if (root === 'subjects' && two === undefined && method === 'POST') return this.#find(one, body)
    if (root === 'subjects' && two === 'versions') {
      if (method === 'POST' && three === undefined) return this.#register(one, body)
      if (method === 'GET') return this.#versions(one, three)
    }
    return failed(404, 404, 'HTTP 404 Not Found')
  }

  #byIdAnswer(id: string): RegistryAnswer {
    const stored = this.#byId[Number(id) - 1]
    return stored === undefined ? failed(404, 40403, `Schema ${id} not found`) : ok(shown(stored))
  }

  #versions(subject: string, version: string | undefined): RegistryAnswer {
    const ids = this.#subjects.get(subject)
    if (ids === undefined) return failed(404, 40401, `Subject '${subject}' not found.`)
    if (version === undefined) return ok(ids.map((_, index) => index + 1))
    const number = version === 'latest' ? ids.length : Number(version)
    const id = ids[number - 1]
    if (id === undefined) return failed(404, 40402, `Version ${version} not found.`)
    return ok(this.#version(subject, number, id))
  }

  #find(subject: string, body: string | undefined): RegistryAnswer {
    const ids = this.#subjects.get(subject)
    if (ids === undefined) return failed(404, 40401, `Subject '${subject}' not found.`)
    const stored = storedOf(body)
    if (stored === undefined) return failed(422, 42201, 'Invalid schema')
    const id = this.#ids.get(keyOf(stored))
    const version = id === undefined ? 0 : ids.indexOf(id) + 1
    if (id === undefined || version === 0) return failed(404, 40403, 'Schema not found')
    return ok(this.#version(subject, version, id))
  }

  #register(subject: string, body: string | undefined): RegistryAnswer {
    const stored = storedOf(body)
    if (stored === undefined) return failed(422, 42201, 'Invalid schema')
    const key = keyOf(stored)
    const id = this.#ids.get(key) ?? this.#byId.push(stored)
    this.#ids.set(key, id)
    const ids = this.#subjects.get(subject) ?? []
    if (!ids.includes(id)) ids.push(id)
    this.#subjects.set(subject, ids)
    return ok({ id })
  }

  #version(subject: string, version: number, id: number): object {
    return { subject, version, id, ...shown(this.#byId[id - 1]) }
  }
}

/** As Confluent's: Avro is not said. */
function shown(stored: StoredSchema | undefined): object {
  const { schema, schemaType, references } = stored ?? {}
  return {
    ...(schemaType === 'AVRO' ? {} : { schemaType }),
    ...(references?.length === 0 ? {} : { references }),
    schema,
  }
}

function storedOf(body: string | undefined): StoredSchema | undefined {
  try {
    const given = JSON.parse(body ?? '') as Partial<StoredSchema>
    const { schema, schemaType = 'AVRO', references = [] } = given
    if (typeof schema !== 'string') return undefined
    const isJson = schemaType !== 'PROTOBUF'
    const text = isJson && schema.startsWith('{') ? JSON.stringify(JSON.parse(schema)) : schema
    return { schema: text, schemaType, references }
  } catch {
    return undefined
  }
}

function keyOf({ schema, schemaType, references }: StoredSchema): string {
  return JSON.stringify([schemaType, schema, references])
}

const ok = (body: unknown): RegistryAnswer => ({ status: 200, text: JSON.stringify(body) })

function failed(status: number, code: number, message: string): RegistryAnswer {
  return { status, text: JSON.stringify({ error_code: code, message }) }
}

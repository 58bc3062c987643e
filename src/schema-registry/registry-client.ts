import type { Clock } from '../base/clock.ts'
import type { Random } from '../base/random.ts'
import { StreamsError, isStreamsError } from '../errors.ts'
import type { RegistryAnswer } from './exchange.ts'
import type { Lookup } from './lookup.ts'
import type {
  CompleteSchema,
  RegisteredSchema,
  SchemaPart,
  SchemaReference,
  SchemaText,
  SchemaType,
} from './registered-schema.ts'
import { failureOfAnswer, invalidAnswer } from './registry-failure.ts'

/** Milliseconds before the second round of attempts; it doubles from round to round. */
const pauseBaseMs = 100
const pauseMaxMs = 1000
/** Milliseconds for which a refusal is believed: an id that is in many records is asked for once. */
const refusalMs = 5000
/** Milliseconds for which a registry that did not answer is not asked again. */
const outageMs = 1000
/** Refusals that are remembered; garbled records have many different ids. */
const refusalsMax = 1000

export interface RegistryClientOptions {
  readonly servers: readonly string[]
  readonly timeoutMs: number
  readonly clock: Clock
  readonly random: Random
}

interface Refusal {
  readonly error: StreamsError
  readonly until: number
}

interface Question {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly body?: string
  /** What is asked about, for messages. */
  readonly about: string
}

/**
 * What can be asked of a registry, and what is known of it. A schema with an id, and a version of a
 * subject, never change: they are asked for once.
 */
export class RegistryClient {
  readonly #options: RegistryClientOptions
  /** By id and context. */
  readonly #byId = new Map<string, SchemaText>()
  readonly #byVersion = new Map<string, RegisteredSchema>()
  readonly #refusals = new Map<string, Refusal>()
  #outage: Refusal | undefined
  #isClosed = false

  constructor(options: RegistryClientOptions) {
    this.#options = options
  }

  /** From here on everything that is not known yet is refused. */
  close(): void {
    this.#isClosed = true
  }

  /** Asks again for what was refused a moment ago. */
  forgetFailures(): void {
    this.#refusals.clear()
    this.#outage = undefined
  }

  /** The subject says in which context the id is one: without contexts ids are those of all subjects. */
  *schemaById(id: number, subject: string): Lookup<SchemaText> {
    const key = idKey(id, subject)
    const known = this.#byId.get(key)
    if (known !== undefined) return known
    const about = `the schema id ${id}`
    const query = contextOf(subject) === '' ? '' : `?subject=${encodeURIComponent(subject)}`
    const answer = yield* this.#ask({ method: 'GET', path: `/schemas/ids/${id}${query}`, about })
    const schema = schemaOf(answer, about)
    this.#byId.set(key, schema)
    return schema
  }

  *latest(subject: string): Lookup<RegisteredSchema> {
    const about = `the subject ${subject}`
    const path = `${pathOf(subject)}/versions/latest`
    return this.#learnt(subject, yield* this.#ask({ method: 'GET', path, about }))
  }

  /** The numbers of all versions, also of those that are deleted: their records may still be there. */
  *versions(subject: string): Lookup<readonly number[]> {
    const about = `the subject ${subject}`
    const path = `${pathOf(subject)}/versions?deleted=true`
    const answer = yield* this.#ask({ method: 'GET', path, about })
    if (Array.isArray(answer) && answer.every((version) => Number.isInteger(version))) {
      return answer as readonly number[]
    }
    throw invalidAnswer(about, 'it is no list of versions')
  }

  *version(subject: string, version: number): Lookup<RegisteredSchema> {
    const key = `${version} ${subject}`
    const known = this.#byVersion.get(key)
    if (known !== undefined) return known
    const about = `version ${version} of the subject ${subject}`
    const path = `${pathOf(subject)}/versions/${version}?deleted=true`
    const schema = this.#learnt(subject, yield* this.#ask({ method: 'GET', path, about }))
    this.#byVersion.set(key, schema)
    return schema
  }

  /** The id under which the subject has the schema; refused when it has not. */
  *idOf(subject: string, schema: SchemaText): Lookup<number> {
    const about = `the schema of the subject ${subject}`
    return yield* this.#post(subject, '', { schema, about })
  }

  /** The id of the schema, which becomes the next version of the subject when it is none yet. */
  *register(subject: string, schema: SchemaText): Lookup<number> {
    const about = `the schema for the subject ${subject}`
    return yield* this.#post(subject, '/versions', { schema, about })
  }

  /** The schema with what it refers to. */
  *complete(schema: SchemaText): Lookup<CompleteSchema> {
    const parts = new Map<string, SchemaPart>()
    yield* this.#gather(schema.references, parts, new Set())
    return { text: schema.text, parts: [...parts.values()] }
  }

  *#gather(
    references: readonly SchemaReference[],
    parts: Map<string, SchemaPart>,
    seen: Set<string>,
  ): Lookup<void> {
    for (const { name, subject, version } of references) {
      if (seen.has(name)) continue
      seen.add(name)
      const schema = yield* this.version(subject, version)
      yield* this.#gather(schema.references, parts, seen)
      parts.set(name, { name, text: schema.text })
    }
  }

  *#post(
    subject: string,
    route: string,
    { schema, about }: { readonly schema: SchemaText; readonly about: string },
  ): Lookup<number> {
    const { type, text, references } = schema
    const path = `${pathOf(subject)}${route}`
    const body = JSON.stringify({
      schema: text,
      schemaType: type,
      ...(references.length === 0 ? {} : { references }),
    })
    const answer = yield* this.#ask({ method: 'POST', path, body, about })
    const id = (answer as { id?: unknown } | null)?.id
    if (Number.isInteger(id)) {
      this.#byId.set(idKey(id as number, subject), schema)
      return id as number
    }
    throw invalidAnswer(about, 'it has no id')
  }

  #learnt(subject: string, answer: unknown): RegisteredSchema {
    const about = `the subject ${subject}`
    const schema = schemaOf(answer, about)
    const { id } = answer as { readonly id?: unknown }
    if (!Number.isInteger(id)) throw invalidAnswer(about, 'it has no id')
    this.#byId.set(idKey(id as number, subject), schema)
    return { ...schema, id: id as number }
  }

  /** The answer as JSON, or the error that says why there is none. */
  *#ask(question: Question): Lookup<unknown> {
    if (this.#isClosed) throw new StreamsError('CLIENT_CLOSED', { what: 'schema registry' })
    const key = `${question.method} ${question.path} ${question.body ?? ''}`
    this.#assertNotRefused(key, question.about)
    try {
      const text = yield* this.#attempts(question)
      return parsed(text, question.about)
    } catch (error) {
      if (isStreamsError(error)) this.#remember(key, error)
      throw error
    }
  }

  *#attempts({ about, ...question }: Question): Lookup<string> {
    const { servers, timeoutMs, clock, random } = this.#options
    const deadline = clock.monotonic() + timeoutMs
    // One server that hangs leaves time for the others, and for another try.
    const attemptMs = Math.ceil(timeoutMs / (servers.length + 1))
    let failure = ''
    for (let pauseMs = pauseBaseMs; ; pauseMs = Math.min(2 * pauseMs, pauseMaxMs)) {
      for (const server of servers) {
        const leftMs = Math.ceil(deadline - clock.monotonic())
        if (leftMs <= 0) throw unavailable(about, failure)
        const attempt = { ...question, server, timeoutMs: Math.min(leftMs, attemptMs) }
        const answer = (yield attempt) ?? { failure: 'no answer' }
        if (this.#isClosed) throw new StreamsError('CLIENT_CLOSED', { what: 'schema registry' })
        if ('status' in answer && isSuccess(answer.status)) return answer.text
        if (!isPassing(answer)) throw failureOfAnswer(answer, about)
        failure = `${server}: ${'failure' in answer ? answer.failure : `status ${answer.status}`}`
      }
      const pause = pauseMs * (0.8 + 0.4 * random.next())
      if (clock.monotonic() + pause >= deadline) throw unavailable(about, failure)
      yield { pauseMs: pause }
    }
  }

  #assertNotRefused(key: string, about: string): void {
    const now = this.#options.clock.monotonic()
    if (this.#outage !== undefined && this.#outage.until > now) {
      const { context } = this.#outage.error
      throw new StreamsError('SCHEMA_REGISTRY_UNAVAILABLE', { ...context, about })
    }
    const refusal = this.#refusals.get(key)
    if (refusal === undefined) return
    if (refusal.until > now) {
      throw new StreamsError(refusal.error.code, refusal.error.context, { cause: refusal.error })
    }
    this.#refusals.delete(key)
  }

  #remember(key: string, error: StreamsError): void {
    if (error.code === 'CLIENT_CLOSED') return
    const now = this.#options.clock.monotonic()
    if (error.code === 'SCHEMA_REGISTRY_UNAVAILABLE') {
      this.#outage = { error, until: now + outageMs }
      return
    }
    const oldest = this.#refusals.size < refusalsMax ? undefined : this.#refusals.keys().next()
    if (oldest?.done === false) this.#refusals.delete(oldest.value)
    this.#refusals.set(key, { error, until: now + refusalMs })
  }
}

const pathOf = (subject: string): string => `/subjects/${encodeURIComponent(subject)}`

/** `:.context:` of a subject that is in one. */
const contextOf = (subject: string): string => /^:\.[^:]*:/.exec(subject)?.[0] ?? ''

const idKey = (id: number, subject: string): string => `${id} ${contextOf(subject)}`

const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** Whether another attempt may have another answer. */
function isPassing(answer: RegistryAnswer): boolean {
  if ('failure' in answer) return true
  return answer.status >= 500 || answer.status === 429 || answer.status === 408
}

function unavailable(about: string, detail: string): StreamsError {
  return new StreamsError('SCHEMA_REGISTRY_UNAVAILABLE', { about, detail })
}

function parsed(text: string, about: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidAnswer(about, 'it is not JSON', error)
  }
}

const schemaTypes: readonly string[] = ['AVRO', 'PROTOBUF', 'JSON'] satisfies SchemaType[]

function schemaOf(answer: unknown, about: string): SchemaText {
  const { schema, schemaType, references } = (answer ?? {}) as Readonly<Record<string, unknown>>
  if (typeof schema !== 'string') throw invalidAnswer(about, 'it has no schema')
  // Registries that are older than the other two languages, and newer ones for Avro, do not say it.
  const type = schemaType ?? 'AVRO'
  if (typeof type !== 'string' || !schemaTypes.includes(type)) {
    throw invalidAnswer(about, 'its schemaType is none of AVRO, PROTOBUF and JSON')
  }
  if (!areReferences(references ?? [])) throw invalidAnswer(about, 'its references are malformed')
  return {
    type: type as SchemaType,
    text: schema,
    references: (references ?? []) as readonly SchemaReference[],
  }
}

function areReferences(given: unknown): boolean {
  return (
    Array.isArray(given) &&
    given.every((one: Readonly<Record<string, unknown>> | null) => {
      const { name, subject, version } = one ?? {}
      return typeof name === 'string' && typeof subject === 'string' && Number.isInteger(version)
    })
  )
}

/**
 * Query parameters as their schemas say, read strictly: what is not exactly right is refused with
 * the reason. A coercion would make 1 of `limit=1.5`, and nothing of `limt=5`.
 */
import type { FastifySchemaCompiler } from 'fastify'
import { Type, type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'
import { StreamsError } from '../errors.ts'

/** The schema of a route without parameters. */
export const noParameters = Type.Object({}, { additionalProperties: false })

/** What is read of the schema of one parameter. */
interface ParameterSchema {
  readonly type?: string
  readonly minimum?: number
  readonly maximum?: number
  readonly pattern?: string
  /** In place of the pattern, in messages. */
  readonly description?: string
  /** Of a union: the texts that are allowed. */
  readonly anyOf?: readonly { readonly const?: unknown }[]
  /** Is not named to those who guess. */
  readonly internal?: boolean
}

/** Takes the text of a parameter for what the schema says. Throws `QUERY_INVALID`. */
type Reader = (text: string) => unknown

/** A query string as fastify reads it: a list for a name that is there more than once. */
type ParsedQuery = Readonly<Record<string, string | readonly string[]>>

const wholeNumber = /^\d{1,16}$/

/** Validates what a schema describes; of query strings also the text of each value. */
export const validatorCompiler: FastifySchemaCompiler<TSchema> = ({ schema, httpPart }) => {
  const compiled = Compile(schema)
  const read = httpPart === 'querystring' ? queryReader(schema) : (given: unknown) => given
  return (given: unknown) => {
    try {
      const value = read(given as ParsedQuery)
      return compiled.Check(value) ? { value } : { error: compiled.Errors(value) }
    } catch (error) {
      if (error instanceof StreamsError) return { error }
      throw error
    }
  }
}

function queryReader(schema: TSchema): (query: ParsedQuery) => Record<string, unknown> {
  const { properties } = schema as { properties: Readonly<Record<string, ParameterSchema>> }
  const readers = new Map(
    Object.entries(properties).map(([name, one]) => [name, parameterReader(name, one)]),
  )
  return (query) => {
    const value: Record<string, unknown> = {}
    for (const [name, text] of Object.entries(query)) {
      const reader = readers.get(name)
      if (reader === undefined) throw unknownParameter(name, properties)
      if (typeof text !== 'string') throw invalid(`${name} is given more than once`)
      value[name] = reader(text)
    }
    return value
  }
}

function parameterReader(name: string, schema: ParameterSchema): Reader {
  const { type, anyOf, pattern, description, minimum = 0 } = schema
  const { maximum = Number.MAX_SAFE_INTEGER } = schema
  const refuse = (text: string, expected: string): never => {
    throw invalid(`${name} must be ${expected}, not ${JSON.stringify(text)}`)
  }
  if (type === 'boolean') {
    return (text) => text === 'true' || (text === 'false' ? false : refuse(text, 'true or false'))
  }
  if (type === 'integer') {
    const expected = `a whole number from ${minimum} to ${maximum}`
    return (text) => {
      const number = wholeNumber.test(text) ? Number(text) : Number.NaN
      return number >= minimum && number <= maximum ? number : refuse(text, expected)
    }
  }
  if (anyOf !== undefined) {
    const choices = anyOf.map((one) => String(one.const))
    return (text) => (choices.includes(text) ? text : refuse(text, choices.join(' or ')))
  }
  const form = new RegExp(pattern ?? '')
  return (text) => (form.test(text) ? text : refuse(text, description ?? `like ${form.source}`))
}

function unknownParameter(
  name: string,
  properties: Readonly<Record<string, ParameterSchema>>,
): StreamsError {
  const known = Object.entries(properties).flatMap(([one, { internal }]) => (internal ? [] : [one]))
  const last = known.pop()
  const others = known.length === 0 ? '' : `${known.join(', ')} and `
  const takes = last === undefined ? 'none' : `${others}${last}`
  return invalid(`there is no parameter ${JSON.stringify(name)}; this route takes ${takes}`)
}

function invalid(detail: string): StreamsError {
  return new StreamsError('QUERY_INVALID', { detail })
}

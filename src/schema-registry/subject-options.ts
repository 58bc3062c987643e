import type { SchemaText, SchemaType } from './registered-schema.ts'
import { invalidOption } from './registry-options.ts'
import type { SubjectOptions } from './schema-format.ts'

/** The options that serdes of all languages have. */
export const subjectNames: readonly string[] = ['subject', 'schema', 'register', 'references']

/** Checks the options that all serdes have; the schema that they state, if they do. */
export function ownSchema(
  type: SchemaType,
  { subject, register, references = [] }: SubjectOptions,
  text: string | undefined,
): SchemaText | undefined {
  if (typeof subject !== 'string' || subject === '') {
    throw invalidOption('subject', 'it must be the name of a subject, as orders-value')
  }
  if (register !== undefined && typeof register !== 'boolean') {
    throw invalidOption('register', 'it must be true or false')
  }
  if (!Array.isArray(references) || !references.every(isReference)) {
    throw invalidOption('references', 'it must be a list of { name, subject, version }')
  }
  if (text !== undefined) return { type, text, references }
  if (register === true) throw invalidOption('register', 'there is no schema to register')
  if (references.length > 0) throw invalidOption('references', 'there is no schema that has them')
  return undefined
}

function isReference(given: unknown): boolean {
  const { name, subject, version } = (given ?? {}) as Readonly<Record<string, unknown>>
  return (
    typeof name === 'string' &&
    typeof subject === 'string' &&
    Number.isInteger(version) &&
    (version as number) > 0
  )
}

/**
 * The interface at which validation libraries meet (https://standardschema.dev, version 1): zod,
 * valibot, ArkType, TypeBox and others implement it.
 */
export interface StandardSchema<T> {
  readonly '~standard': {
    readonly version: 1
    readonly vendor: string
    readonly validate: (value: unknown) => StandardResult<T> | Promise<StandardResult<T>>
    readonly types?: { readonly input: unknown; readonly output: T } | undefined
  }
}

/** The value, or what is wrong with it. */
export type StandardResult<T> =
  | { readonly value: T; readonly issues?: undefined }
  | { readonly issues: readonly StandardIssue[] }

/** One thing that is wrong, and where. */
export interface StandardIssue {
  readonly message: string
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined
}

/** Issues that are listed in a message before the rest is left out. */
const issuesShownMax = 3

/**
 * The value as the schema returns it.
 *
 * @throws an Error with a plain sentence: what is wrong, or that the schema is asynchronous.
 */
export function validate<T>(schema: StandardSchema<T>, value: unknown): T {
  const result = schema['~standard'].validate(value)
  if (result instanceof Promise) {
    throw new Error('the schema validates asynchronously; only synchronous schemas can be used')
  }
  if (result.issues === undefined) return result.value
  const shown = result.issues.slice(0, issuesShownMax).map(sentence).join('; ')
  const rest = result.issues.length - issuesShownMax
  throw new Error(rest > 0 ? `${shown}; and ${rest} more` : shown)
}

function sentence({ path, message }: StandardIssue): string {
  if (path === undefined || path.length === 0) return message
  const steps = path.map((step) => String(typeof step === 'object' ? step.key : step))
  return `at ${steps.join('.')}: ${message}`
}

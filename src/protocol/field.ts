import { zeroUuid } from './reader.ts'

/**
 * The words in which the tables of `messages/` are written. A table is an object whose properties,
 * in the order of the wire, are fields; TypeScript infers from it what a decoded message looks like
 * and what must be given to encode one.
 *
 * A field that is not in every version, that is tagged or that states a `default` may be left out
 * when encoding; it then has its default: the stated one, else the zero of its kind (0, false, '',
 * no bytes, an empty array, the zero uuid, a struct of defaults). A decoded message has every field;
 * those that its version lacks have their default.
 */
export type Fields = Readonly<Record<string, AnyField>>

export type Kind =
  | 'int8'
  | 'int16'
  | 'uint16'
  | 'int32'
  | 'int64'
  | 'float64'
  | 'boolean'
  | 'string'
  | 'bytes'
  | 'uuid'
  | 'array'
  | 'struct'

/** One field of a table. `Out` is its decoded type, `In` what encoding takes. */
export interface Field<In, Out, Optional extends boolean> {
  readonly kind: Kind
  /** The first version that has it. */
  readonly since: number
  /** The last version that has it. */
  readonly until: number
  /** The first version in which it may be null; Infinity when it never may. */
  readonly nullable: number
  /** Its number in the section of tagged fields; -1 when it is a plain field. */
  readonly tag: number
  readonly default: unknown
  /** Whether it may be left out when encoding. */
  readonly optional: boolean
  /** True when a version that lacks the field may drop a value that is not the default. */
  readonly ignorable: boolean
  /** Of an array: its elements. */
  readonly element: AnyField | undefined
  /** Of a struct: its fields. */
  readonly fields: Fields | undefined
  /** Exists for the compiler only. */
  readonly types?: { readonly in: In; readonly out: Out; readonly optional: Optional }
}

export type AnyField = Field<unknown, unknown, boolean>

/** What every field may state. */
export interface FieldOptions {
  /** First version that has the field. Default: all. */
  readonly since?: number
  /** Last version that has the field. Default: all. */
  readonly until?: number
  /** Number in the section of tagged fields (flexible versions only). */
  readonly tag?: number
  /** Whether versions that lack the field drop its value silently. Default false: they refuse it. */
  readonly ignorable?: boolean
}

interface ValueOptions<T> extends FieldOptions {
  readonly default?: T
}

interface NullableOptions<T> extends FieldOptions {
  /** First version in which the value may be null. Default: never. */
  readonly nullable?: number
  readonly default?: T | null
}

interface StructOptions extends FieldOptions {
  /** First version in which the value may be null. Default: never. */
  readonly nullable?: number
  readonly default?: null
}

/** What an omitted options object counts as: none of its members is stated. */
type NoOptions = FieldOptions

type OrNull<T, O> = O extends { readonly nullable: number } ? T | null : T

type IsOptional<O> = O extends
  | { readonly since: number }
  | { readonly until: number }
  | { readonly tag: number }
  | { readonly default: unknown }
  ? true
  : false

type FieldOf<In, Out, O> = Field<OrNull<In, O>, OrNull<Out, O>, IsOptional<O>>

type InOf<F> = F extends Field<infer In, unknown, boolean> ? In : never
type OutOf<F> = F extends Field<unknown, infer Out, boolean> ? Out : never

type OptionalNames<F extends Fields> = {
  [K in keyof F]: F[K] extends Field<unknown, unknown, true> ? K : never
}[keyof F]

type Flat<T> = { [K in keyof T]: T[K] }

/** What encoding a table takes. */
export type InputOf<F extends Fields> = Flat<
  { readonly [K in Exclude<keyof F, OptionalNames<F>>]: InOf<F[K]> } & {
    readonly [K in OptionalNames<F>]?: InOf<F[K]> | undefined
  }
>

/** What decoding a table gives. */
export type OutputOf<F extends Fields> = { -readonly [K in keyof F]: OutOf<F[K]> }

interface AnyOptions extends FieldOptions {
  readonly nullable?: number
  readonly default?: unknown
}

function field(
  kind: Kind,
  zero: unknown,
  options: AnyOptions = {},
  parts: { readonly element?: AnyField; readonly fields?: Fields } = {},
): AnyField {
  return {
    kind,
    since: options.since ?? 0,
    until: options.until ?? Infinity,
    nullable: options.nullable ?? Infinity,
    tag: options.tag ?? -1,
    default: options.default === undefined ? zero : options.default,
    optional:
      options.since !== undefined ||
      options.until !== undefined ||
      options.tag !== undefined ||
      options.default !== undefined,
    ignorable: options.ignorable ?? false,
    element: parts.element,
    fields: parts.fields,
  }
}

export function int8<const O extends ValueOptions<number> = NoOptions>(
  options?: O,
): FieldOf<number, number, O> {
  return field('int8', 0, options) as FieldOf<number, number, O>
}

export function int16<const O extends ValueOptions<number> = NoOptions>(
  options?: O,
): FieldOf<number, number, O> {
  return field('int16', 0, options) as FieldOf<number, number, O>
}

export function uint16<const O extends ValueOptions<number> = NoOptions>(
  options?: O,
): FieldOf<number, number, O> {
  return field('uint16', 0, options) as FieldOf<number, number, O>
}

export function int32<const O extends ValueOptions<number> = NoOptions>(
  options?: O,
): FieldOf<number, number, O> {
  return field('int32', 0, options) as FieldOf<number, number, O>
}

/** A Java long as a JS number, exact to 2^53. */
export function int64<const O extends ValueOptions<number> = NoOptions>(
  options?: O,
): FieldOf<number, number, O> {
  return field('int64', 0, options) as FieldOf<number, number, O>
}

export function float64<const O extends ValueOptions<number> = NoOptions>(
  options?: O,
): FieldOf<number, number, O> {
  return field('float64', 0, options) as FieldOf<number, number, O>
}

export function boolean<const O extends ValueOptions<boolean> = NoOptions>(
  options?: O,
): FieldOf<boolean, boolean, O> {
  return field('boolean', false, options) as FieldOf<boolean, boolean, O>
}

export function string<const O extends NullableOptions<string> = NoOptions>(
  options?: O,
): FieldOf<string, string, O> {
  return field('string', '', options) as FieldOf<string, string, O>
}

/** Bytes: a view of the message when decoded. Kafka's kind `records` has the same form. */
export function bytes<const O extends NullableOptions<Uint8Array> = NoOptions>(
  options?: O,
): FieldOf<Uint8Array, Buffer, O> {
  return field('bytes', Buffer.alloc(0), options) as FieldOf<Uint8Array, Buffer, O>
}

/** Record batches, undecoded: a view of the message, or null. */
export function records(): FieldOf<Uint8Array, Buffer, { readonly nullable: 0 }> {
  return field('bytes', null, { nullable: 0 }) as Field<Uint8Array | null, Buffer | null, false>
}

/** A uuid in Kafka's own text form: 22 characters of unpadded base64url. */
export function uuid<const O extends ValueOptions<string> = NoOptions>(
  options?: O,
): FieldOf<string, string, O> {
  return field('uuid', zeroUuid, options) as FieldOf<string, string, O>
}

export function struct<const F extends Fields, const O extends StructOptions = NoOptions>(
  fields: F,
  options?: O,
): FieldOf<InputOf<F>, OutputOf<F>, O> {
  return field('struct', undefined, options, { fields }) as FieldOf<InputOf<F>, OutputOf<F>, O>
}

/** Elements are one field (`array(int32())`) or structs (`array({ name: string() })`). */
export function array<const E extends AnyField | Fields, const O extends StructOptions = NoOptions>(
  element: E,
  options?: O,
): FieldOf<readonly ElementIn<E>[], ElementOut<E>[], O> {
  const one = isField(element) ? element : field('struct', undefined, {}, { fields: element })
  return field('array', undefined, options, { element: one }) as FieldOf<
    readonly ElementIn<E>[],
    ElementOut<E>[],
    O
  >
}

type ElementIn<E> = E extends AnyField ? InOf<E> : E extends Fields ? InputOf<E> : never
type ElementOut<E> = E extends AnyField ? OutOf<E> : E extends Fields ? OutputOf<E> : never

function isField(element: AnyField | Fields): element is AnyField {
  return typeof element['kind'] === 'string'
}

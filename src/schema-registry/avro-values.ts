/**
 * How values of a logical type stand in a program, instead of what Avro has for them. `attributes` is the
 * part of the schema, with `scale` and the like.
 *
 * @example
 * const timestampMillis: AvroLogicalType<Date, number> = {
 *   fromAvro: (millis) => new Date(millis),
 *   toAvro: (date) => date.getTime(),
 * }
 */
export interface AvroLogicalType<Value = unknown, Stored = unknown> {
  /** What the program sees, from what Avro stores. `attributes` are those of the type in the schema. */
  fromAvro(stored: Stored, attributes: Readonly<Record<string, unknown>>): Value
  /** What Avro stores, from what the program gives. */
  toAvro(value: Value, attributes: Readonly<Record<string, unknown>>): Stored
}

/** Hooks whose types only the program knows. */
// oxlint-disable-next-line typescript/no-explicit-any -- unknown would refuse every typed hook
export type AnyAvroLogicalType = AvroLogicalType<any, any>

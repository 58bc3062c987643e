/**
 * Turns values into bytes and back. Null never reaches a serde: a null key or value stays null on
 * the wire. The bytes given to `deserialize` are borrowed: copy what is kept.
 *
 * A serde that returns undefined from nothing and throws on what it cannot represent is a good one:
 * the engine wraps what is thrown in `SERDE_FAILED` with the topic, partition and offset.
 */
export interface Serde<T> {
  /** Shown in topology descriptions, in metadata and in errors. */
  readonly name: string
  /** The bytes of a value, which the engine may keep. */
  serialize(value: T): Uint8Array
  /** The value of such bytes. */
  deserialize(bytes: Uint8Array): T
  /**
   * The same as `deserialize(bytes.subarray(start, end))`, for serdes that need no view in between:
   * making one costs as much as reading a short text.
   */
  readonly deserializeSlice?: (bytes: Buffer, start: number, end: number) => T
  /**
   * How a key stands in a URL: `string` serdes as it is, numbers in decimal, JSON as JSON. Absent:
   * only base64 of the bytes.
   */
  readonly text?: SerdeText<T>
  /**
   * The value under which a Map finds an equal key again without serializing it: a string, a number
   * that is equal exactly when its bytes are, and so on. Absent: keys are compared by their bytes.
   */
  readonly identity?: (value: T) => string | number | bigint | boolean
  /**
   * Of keys in windows: the bytes of the key alone. They choose the partition of a record that a
   * stream writes, so that all windows of a key are in the partition of the key itself.
   */
  readonly baseKey?: (value: T) => Uint8Array
  /** Estimated bytes of a value, for the memory budget, without serializing it. Default: 64. */
  readonly sizeOf?: (value: T) => number
}

/** The text form of a serde's values. `parse` throws an Error with a plain sentence on bad text. */
export interface SerdeText<T> {
  /** The text of a value. */
  format(value: T): string
  /** The value of such a text. */
  parse(text: string): T
}

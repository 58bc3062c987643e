import type { Serde } from '../serde/serde.ts'

/** Without `sizeOf`, every so many values one is serialized to see how large they are. */
const valuesPerSample = 64
/** An object in memory is about so many times its JSON. */
const objectFactor = 3
/** What an estimate begins with. */
const unknownBytes = 64

/** Estimates the bytes of values in memory, for a budget. */
export class ValueSizer<V> {
  readonly #serde: Serde<V>
  readonly #sizeOf: ((value: V) => number) | undefined
  #estimate = unknownBytes
  #valuesToSample = 1

  constructor(serde: Serde<V>) {
    this.#serde = serde
    this.#sizeOf = serde.sizeOf
  }

  sizeOf(value: V): number {
    if (this.#sizeOf !== undefined) return this.#sizeOf(value)
    this.#valuesToSample -= 1
    if (this.#valuesToSample === 0) this.#sampleValue(value)
    return this.#estimate
  }

  #sampleValue(value: V): void {
    this.#valuesToSample = valuesPerSample
    try {
      this.sample(this.#serde.serialize(value).length)
    } catch {
      // Whoever writes the value will say what is wrong with it.
    }
  }

  /** A value was serialized, to so many bytes. */
  sample(bytes: number): void {
    // The first sample counts as much as all that follow: a moving average.
    const size = unknownBytes + bytes * objectFactor
    this.#estimate = this.#estimate === unknownBytes ? size : this.#estimate * 0.9 + size * 0.1
  }
}

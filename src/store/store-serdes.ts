import { asBuffer } from '../base/bytes.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { Serde } from '../serde/serde.ts'

/** The serdes of one store, with errors that name it. */
export class StoreSerdes<K, V> {
  readonly store: string
  readonly key: Serde<K>
  readonly value: Serde<V>

  constructor(store: string, serdes: { key: Serde<K>; value: Serde<V> }) {
    this.store = store
    this.key = serdes.key
    this.value = serdes.value
  }

  writeKey(key: K): Buffer {
    if (key === null || key === undefined) {
      throw new StreamsError('KEY_INVALID', { store: this.store, detail: `it is ${String(key)}` })
    }
    try {
      return asBuffer(this.key.serialize(key))
    } catch (error) {
      throw this.#failure(this.key, 'serialize', error)
    }
  }

  readKey(bytes: Buffer): K {
    try {
      return this.key.deserialize(bytes)
    } catch (error) {
      throw this.#failure(this.key, 'deserialize', error)
    }
  }

  writeValue(value: V): Buffer {
    try {
      return asBuffer(this.value.serialize(value))
    } catch (error) {
      throw this.#failure(this.value, 'serialize', error)
    }
  }

  readValue(bytes: Buffer): V {
    try {
      return this.value.deserialize(bytes)
    } catch (error) {
      throw this.#failure(this.value, 'deserialize', error)
    }
  }

  #failure(serde: Serde<K> | Serde<V>, operation: string, error: unknown): StreamsError {
    const detail =
      error instanceof StreamsError && typeof error.context['detail'] === 'string'
        ? error.context['detail']
        : messageOf(error)
    const context = { serde: serde.name, operation, store: this.store, detail }
    return new StreamsError('SERDE_FAILED', context, { cause: error })
  }
}

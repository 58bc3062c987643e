import { asBuffer } from '../base/bytes.ts'
import { StreamsError, messageOf } from '../errors.ts'
import { keyBytesMax } from '../query/request.ts'
import type { StoreRow } from '../query/query-target.ts'
import type { AnyStore } from '../store/descriptor.ts'

/** How keys stand in URLs and rows: as the serde's text, or as their bytes in base64. */
export type KeyFormat = 'text' | 'base64'

/** What is meant when the question does not say: text, where the serde has one. */
export function keyFormatOf(store: AnyStore, asked: KeyFormat | undefined): KeyFormat {
  const own = store.key.text === undefined ? 'base64' : 'text'
  if (asked === 'text' && own === 'base64') {
    throw invalidKey(store, `the serde ${store.key.name} has no text form; use keyFormat=base64`)
  }
  return asked ?? own
}

/** The bytes of a key as it stands in a URL. Throws `KEY_INVALID` or `KEY_TOO_LONG`. */
export function parseKey(store: AnyStore, format: KeyFormat, text: string): Buffer {
  const bytes = format === 'base64' ? fromBase64(store, text) : fromText(store, text)
  if (bytes.length > keyBytesMax) {
    throw new StreamsError('KEY_TOO_LONG', { bytes: bytes.length, limit: keyBytesMax })
  }
  return bytes
}

/**
 * The bytes with which keys begin. Text has no beginning that is the beginning of its bytes, except
 * text itself.
 */
export function parsePrefix(store: AnyStore, format: KeyFormat, text: string): Buffer {
  if (format === 'text' && store.key.name !== 'string') {
    throw invalidKey(store, `a prefix of ${store.key.name} keys is bytes; use keyFormat=base64`)
  }
  return parseKey(store, format, text)
}

/** The key of a row as it would stand in a URL. */
export function formatKey(store: AnyStore, format: KeyFormat, row: StoreRow): string {
  if (format === 'base64') return row.keyBytes.toString('base64')
  return store.key.text?.format(row.key) ?? row.keyBytes.toString('base64')
}

function fromText(store: AnyStore, text: string): Buffer {
  try {
    const key: unknown = store.key.text?.parse(text)
    const bytes = store.key.serialize(key)
    return asBuffer(bytes)
  } catch (error) {
    throw invalidKey(store, messageOf(error), error)
  }
}

/** Both alphabets are taken, with and without padding; whatever else Node passes over is not. */
function fromBase64(store: AnyStore, text: string): Buffer {
  const bytes = Buffer.from(text, 'base64')
  const plain = text
    .replace(/={1,2}$/, '')
    .replaceAll('+', '-')
    .replaceAll('/', '_')
  if (bytes.toString('base64url') !== plain) throw invalidKey(store, 'it is not base64')
  return bytes
}

function invalidKey(store: AnyStore, detail: string, cause?: unknown): StreamsError {
  return new StreamsError('KEY_INVALID', { store: store.name, detail }, { cause })
}

/**
 * A topology that keeps a core busy: a slow fingerprint of each document. It is a module of its own, in
 * JavaScript, because each worker of `fingerprints.ts` imports it in its own thread.
 */
import { pbkdf2Sync } from 'node:crypto'
import { StreamsBuilder, keyValueStore, serdes, topic } from 'millpond'

export const documents = topic('documents', { key: serdes.string, value: serdes.string })
export const fingerprints = keyValueStore('fingerprints', {
  key: serdes.string,
  value: serdes.string,
})

/**
 * Slow on purpose.
 *
 * @param {string} text
 */
export function fingerprint(text) {
  return pbkdf2Sync(text, 'millpond', 2000, 8, 'sha256').toString('hex')
}

const builder = new StreamsBuilder()
builder.stream(documents).mapValues(fingerprint).toTable({ store: fingerprints })

export const topology = builder.build()

import { createHash, createHmac, pbkdf2, timingSafeEqual } from 'node:crypto'

/** The hash functions that Kafka's mechanisms use. */
export type HashName = 'sha256' | 'sha512'

/** Bytes of a hash. */
export const hashBytes: Readonly<Record<HashName, number>> = { sha256: 32, sha512: 64 }

/** The hash of the bytes. */
export function hashOf(hash: HashName, bytes: Uint8Array): Buffer {
  return createHash(hash).update(bytes).digest()
}

/** HMAC: the hash of a text under a key. */
export function hmacOf(hash: HashName, key: Uint8Array, text: string): Buffer {
  return createHmac(hash, key).update(text, 'utf8').digest()
}

/** PBKDF2 with HMAC, as long as the hash: slow on purpose, and done in another thread. */
export function stretchedPassword(
  hash: HashName,
  password: string,
  { salt, iterations }: { readonly salt: Uint8Array; readonly iterations: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    pbkdf2(password, salt, iterations, hashBytes[hash], hash, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })
}

/** True for the same bytes; the time that it takes does not tell where they differ. */
export function areSameSecrets(first: Uint8Array, second: Uint8Array): boolean {
  return first.length === second.length && timingSafeEqual(first, second)
}

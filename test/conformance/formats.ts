import { nullable } from '../../src/serde/nullable.ts'
import type { Serde } from '../../src/serde/serde.ts'
import { serdes } from '../../src/serde/serdes.ts'
import { InvalidCase, type ScriptValue } from './case.ts'
import { pickySerde } from './picky.ts'

type AnySerde = Serde<unknown>

const named = new Map<string, unknown>([
  ['string', serdes.string],
  ['short', serdes.short],
  ['int', serdes.int],
  ['long', serdes.long],
  ['float', serdes.float],
  ['double', serdes.double],
  ['boolean', serdes.boolean],
  ['bytes', serdes.bytes],
  ['uuid', serdes.uuid],
])

const listPrefix = 'list:'
const pickyPrefix = 'picky:'

/** The serde of that name; the same object each time. Where one must be stated, `string` need not be. */
export function serdeOf(name = 'string'): AnySerde {
  let serde = named.get(name)
  if (serde === undefined && name.startsWith(listPrefix)) {
    serde = serdes.list(nullable(serdeOf(name.slice(listPrefix.length))))
    named.set(name, serde)
  }
  if (serde === undefined && name.startsWith(pickyPrefix)) {
    serde = pickySerde(name.slice(pickyPrefix.length))
    named.set(name, serde)
  }
  const [kind, ...parts] = name.split(':')
  if (serde === undefined && kind === 'session') {
    serde = serdes.sessionWindowed(serdeOf(parts.join(':')))
    named.set(name, serde)
  }
  if (serde === undefined && kind === 'windowed') {
    // Without a size the windows are unlimited.
    const [size, ...inner] = parts
    serde = serdes.timeWindowed(serdeOf(inner.join(':')), size === '' ? Infinity : Number(size))
    named.set(name, serde)
  }
  if (serde === undefined) throw new InvalidCase(`there is no serde ${name}`)
  return serde as AnySerde
}

/** The bytes of a key or value in a script. */
export function bytesOf(value: ScriptValue, serde: string | undefined): Buffer | null {
  if (value === null) return null
  if (typeof value === 'object' && 'hex' in value) return Buffer.from(value.hex, 'hex')
  // A picky serde would not write what it is not to read.
  const isPicky = serde?.startsWith(pickyPrefix) === true
  return Buffer.from(serdeOf(isPicky ? 'string' : serde).serialize(value))
}

export function hex(bytes: Uint8Array | null): string | null {
  return bytes === null ? null : Buffer.from(bytes).toString('hex')
}

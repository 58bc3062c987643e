import type { Serde } from '../../src/serde/serde.ts'
import { serdes } from '../../src/serde/serdes.ts'

/** Strings, but it neither reads nor writes those that begin with a text. */
export function pickySerde(refused: string): Serde<string> {
  const checked = (text: string): string => {
    if (text.startsWith(refused)) throw new Error(`the serde refuses ${text}`)
    return text
  }
  return {
    name: `picky:${refused}`,
    serialize: (text) => serdes.string.serialize(checked(text)),
    deserialize: (bytes) => checked(serdes.string.deserialize(bytes)),
  }
}

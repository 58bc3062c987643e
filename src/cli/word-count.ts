import { StreamsBuilder, keyValueStore, serdes, topic, type Topology } from '../index.ts'

/** Names the group of the instances, and their topics. */
export const applicationId = 'word-count'

/** What the demo reads: one line of text a record. */
export const textLines = topic('text-lines', { value: serdes.string })

/** What it knows: how often each word was seen. */
export const wordCounts = keyValueStore('word-counts', { key: serdes.string, value: serdes.long })

/** No engine keeps longer keys on disk; whatever is longer is no word. */
const wordCharactersMax = 1000

/**
 * Lines → words → how often each was seen. A word is a run of letters and digits, in lower case.
 * Change it and start the demo again, with a fresh data directory.
 */
export function wordCount(): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(textLines)
    .flatMapValues((line) =>
      line
        .toLowerCase()
        .split(/[^\p{L}\p{N}]+/u)
        .filter(isWord),
    )
    .groupBy((word) => word, { key: serdes.string, value: serdes.string })
    .count({ store: wordCounts })
  return builder.build()
}

function isWord(text: string): boolean {
  return text.length > 0 && text.length <= wordCharactersMax
}

import { BinaryHeap } from '../../base/heap.ts'
import { compareBytes } from '../../base/bytes.ts'
import { sleep, systemClock } from '../../base/clock.ts'
import type { HttpReader } from './http-reader.ts'

/** Milliseconds for which an application that is busy with itself is asked again. */
const patienceMs = 60_000

const retryIntervalMs = 200
const rowsPerPage = 1000

/** A word and how often it was seen. */
export interface WordCount {
  readonly word: string
  readonly count: number
}

interface Page {
  readonly rows: readonly { readonly key: string; readonly value: number }[]
  readonly cursor: string | null
}

/** The order of the list: the most frequent first, of equals the one that is first by its bytes. */
function compareCounts(a: WordCount, b: WordCount): number {
  return b.count - a.count || compareBytes(Buffer.from(a.word), Buffer.from(b.word))
}

/**
 * The most frequent words of the whole application, read page by page over HTTP from whichever of the
 * ports answers. Rejects when none does for a minute.
 */
export async function topWords(
  http: Pick<HttpReader, 'get'>,
  ports: readonly number[],
  { store, limit, signal }: { store: string; limit: number; signal: AbortSignal },
): Promise<WordCount[]> {
  // The worst of those that are kept is on top.
  const best = new BinaryHeap<WordCount>((a, b) => compareCounts(b, a))
  let cursor: string | null = ''
  while (cursor !== null) {
    const query: string = cursor === '' ? '' : `&cursor=${cursor}`
    const path = `/v1/stores/${encodeURIComponent(store)}/keys?limit=${rowsPerPage}${query}`
    const page: Page = await readPage(http, ports, path, signal)
    for (const { key, value } of page.rows) {
      best.push({ word: key, count: value })
      if (best.size > limit) best.pop()
    }
    cursor = page.cursor
  }
  return [...best.values()].sort(compareCounts)
}

async function readPage(
  http: Pick<HttpReader, 'get'>,
  ports: readonly number[],
  path: string,
  signal: AbortSignal,
): Promise<Page> {
  const deadline = systemClock.monotonic() + patienceMs
  let last = 'no instance answers'
  while (systemClock.monotonic() < deadline && !signal.aborted) {
    for (const port of ports) {
      const answer = await http.get(port, path)
      if (answer?.status === 200) return JSON.parse(answer.text) as Page
      if (answer !== undefined) last = answer.text
    }
    await sleep(systemClock, retryIntervalMs, signal)
  }
  throw new Error(`The counts could not be read: ${last}`)
}

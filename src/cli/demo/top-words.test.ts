import { expect, test } from 'vitest'
import type { HttpAnswer } from './http-reader.ts'
import { topWords } from './top-words.ts'

const page = (rows: Record<string, number>, cursor: string | null): HttpAnswer => ({
  status: 200,
  text: JSON.stringify({
    rows: Object.entries(rows).map(([key, value]) => ({ key, value })),
    cursor,
  }),
})

const path = '/v1/stores/word-counts/keys?limit=1000'
const { signal } = new AbortController()

test('the most frequent words come first, equals by their bytes', async () => {
  const pages = new Map([
    [path, page({ a: 1, be: 3, or: 2 }, 'abc')],
    [`${path}&cursor=abc`, page({ to: 3, zz: 2, '\u{1f600}': 2, '\uffff': 2 }, null)],
  ])
  const http = { get: async (_port: number, url: string) => pages.get(url) }
  const words = await topWords(http, [7070], { store: 'word-counts', limit: 6, signal })
  expect(words.map(({ word, count }) => `${word} ${count}`)).toEqual([
    'be 3',
    'to 3',
    'or 2',
    'zz 2',
    '\uffff 2',
    '\u{1f600} 2',
  ])
})

test('whichever instance answers is asked, and one that cannot is asked again', async () => {
  const answers: (HttpAnswer | undefined)[] = [
    undefined,
    { status: 503, text: '{"code":"STREAMS_REBALANCING"}' },
    undefined,
    page({ be: 3 }, null),
  ]
  const asked: number[] = []
  const http = {
    get: async (port: number) => {
      asked.push(port)
      return answers.shift()
    },
  }
  const words = await topWords(http, [1, 2], { store: 'word-counts', limit: 6, signal })
  expect(words).toEqual([{ word: 'be', count: 3 }])
  expect(asked).toEqual([1, 2, 1, 2])
})

/** Tests a topology without a broker: `npx tsx --test examples/word-count.test.ts`. */
import { deepStrictEqual, strictEqual } from 'node:assert/strict'
import { test } from 'node:test'
import { TopologyTestDriver } from 'millpond/testing'
import { lines, wordCount, wordCounts } from './word-count.ts'

await test('words are counted whatever their case', () => {
  using driver = new TopologyTestDriver(wordCount())
  driver.input(lines).pipe({ key: null, value: 'To be, or not to be', timestamp: 0 })

  const store = driver.store(wordCounts)
  deepStrictEqual([store.get('to'), store.get('be'), store.get('or')], [2, 2, 1])
  strictEqual(store.get('To'), undefined)
})

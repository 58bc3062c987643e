import { expect, test } from 'vitest'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { RestoreBudget } from './restore-budget.ts'
import { plainFormat } from './stored-value.ts'
import { WriteBehind } from './write-behind.ts'

const mebibyte = 1024 * 1024

test('each table that restores has an equal share, within bounds', () => {
  const budget = new RestoreBudget(16 * mebibyte)
  expect(budget.runBytes).toBe(4 * mebibyte)
  for (let table = 0; table < 4; table += 1) budget.begin()
  expect(budget.runBytes).toBe(2 * mebibyte)
  for (let table = 0; table < 400; table += 1) budget.begin()
  expect(budget.runBytes).toBe(mebibyte / 4)
  for (let table = 0; table < 403; table += 1) budget.end()
  expect(budget.runBytes).toBe(4 * mebibyte)
})

test('tables of several engines gather no more than twice the budget, whoever restores', () => {
  const budget = new RestoreBudget(8 * mebibyte)
  const tables = Array.from({ length: 8 }, () =>
    WriteBehind.of(new MemoryEngine(), budget).table('t', plainFormat),
  )
  const value = Buffer.alloc(1000)
  let most = 0
  for (let row = 0; row < 2000; row += 1) {
    for (const table of tables) {
      table.restore(Buffer.from(`key-${row}`), value, 1)
      table.restored(row)
    }
    most = Math.max(
      most,
      tables.reduce((sum, table) => sum + table.pinnedBytes(), 0),
    )
  }
  expect(most).toBeGreaterThan(4 * mebibyte)
  expect(most).toBeLessThan(17 * mebibyte)
  for (const table of tables) {
    table.close()
    expect(table.restoreOffset()).toBe(2000)
  }
  expect(budget.runBytes).toBe(4 * mebibyte)
})

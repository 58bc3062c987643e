import { describe, expect, test } from 'vitest'
import { TableState } from './table-state.ts'

const mapping = (value: unknown): unknown => value
const mapped = (table: TableState): TableState => new TableState({ above: { table, mapping } })

describe('old values', () => {
  test('are sent by a table that is kept, once a step below asks', () => {
    const table = new TableState({ store: 'rows' })

    expect(table.sendOldValues).toBe(false)
    expect(table.enableSendingOldValues()).toBe(true)
    expect(table.sendOldValues).toBe(true)
  })

  test('of a table that is not kept come from the nearest kept one above', () => {
    const kept = new TableState({ store: 'rows' })

    expect(mapped(mapped(kept)).enableSendingOldValues()).toBe(true)
    expect(kept.sendOldValues).toBe(true)
  })

  test('cannot be had when nothing above is kept', () => {
    const source = new TableState({ store: 'rows', kept: 'on-demand' })
    const table = mapped(source)

    expect(table.enableSendingOldValues()).toBe(false)
    expect(table.sendOldValues).toBe(false)
    expect(source.storeName).toBe(undefined)
  })

  test('make a source be kept when a step below cannot do without them', () => {
    const source = new TableState({ store: 'rows', kept: 'on-demand' })

    expect(mapped(source).enableSendingOldValues({ force: true })).toBe(true)
    expect(source.storeName).toBe('rows')
    expect(source.sendOldValues).toBe(true)
  })

  test('a filter sends them exactly when the table above has them, also when it is kept itself', () => {
    const rows = new TableState({ store: 'rows' })
    const aboveKept = new TableState({ store: 'filtered', above: { table: rows, mapping } })
    aboveKept.inheritOldValues()
    expect(aboveKept.sendOldValues).toBe(true)

    const source = new TableState({ store: 'rows', kept: 'on-demand' })
    const aboveNotKept = new TableState({ store: 'filtered', above: { table: source, mapping } })
    aboveNotKept.inheritOldValues()
    expect(aboveNotKept.sendOldValues).toBe(false)
  })
})

describe('a view', () => {
  test('of a kept table is its store', () => {
    const table = new TableState({ store: 'rows' })

    expect(table.view().storeNames).toEqual(['rows'])
  })

  test('makes a source be kept, also when a table is worked out between', () => {
    const source = new TableState({ store: 'rows', kept: 'on-demand' })

    expect(mapped(source).view().storeNames).toEqual(['rows'])
    expect(source.storeName).toBe('rows')
  })
})

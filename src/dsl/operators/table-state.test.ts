import { describe, expect, test } from 'vitest'
import { TableState } from './table-state.ts'
import { mappedView, storedView, type TableView } from './table-view.ts'

const mapping = (value: unknown): unknown => value
const above = (table: TableState) =>
  ({ tables: [table], view: (rows: TableView) => mappedView(rows, mapping) }) as const
const mapped = (table: TableState): TableState => new TableState({ above: above(table) })

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
    const aboveKept = new TableState({ store: 'filtered', above: above(rows) })
    aboveKept.inheritOldValues()
    expect(aboveKept.sendOldValues).toBe(true)

    const source = new TableState({ store: 'rows', kept: 'on-demand' })
    const aboveNotKept = new TableState({ store: 'filtered', above: above(source) })
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

describe('a joined table', () => {
  const source = (): TableState => new TableState({ store: 'rows', kept: 'on-demand' })
  const view = (): TableView => storedView('both')

  test('has old values of both sides kept, whether it is kept itself or not', () => {
    for (const store of [undefined, 'joined']) {
      const tables = [source(), source()] as const
      const joined = new TableState({ store, above: { tables, view } })

      expect(joined.enableSendingOldValues()).toBe(true)
      expect(tables.map(({ sendOldValues }) => sendOldValues)).toEqual([true, true])
      expect(tables.map(({ storeName }) => storeName)).toEqual(['rows', 'rows'])
    }
  })

  test('is worked out from views of both sides when it is not kept', () => {
    const tables = [source(), source()] as const
    const joined = new TableState({ above: { tables, view } })

    expect(joined.view().storeNames).toEqual(['both'])
    expect(tables.map(({ storeName }) => storeName)).toEqual(['rows', 'rows'])
  })
})

describe('versions', () => {
  const versioned = new TableState({ store: 'versions', versioned: true })

  test('go on through tables that are worked out row by row', () => {
    expect(mapped(mapped(versioned)).isVersioned).toBe(true)
    expect(mapped(new TableState({ store: 'rows' })).isVersioned).toBe(false)
  })

  test('end where a table is kept without them, and at a join', () => {
    const kept = new TableState({ store: 'kept', above: above(versioned) })
    const tables = [versioned, versioned] as const
    const joined = new TableState({ above: { tables, view: () => storedView('both') } })

    expect(kept.isVersioned).toBe(false)
    expect(joined.isVersioned).toBe(false)
  })
})

import { describe, expect, test } from 'vitest'
import { TableState } from './table-state.ts'

describe('old values', () => {
  test('are sent by a table that is kept, once a step below asks', () => {
    const table = new TableState('rows')

    expect(table.sendOldValues).toBe(false)
    expect(table.enableSendingOldValues()).toBe(true)
    expect(table.sendOldValues).toBe(true)
  })

  test('of a table that is not kept come from the nearest kept one above', () => {
    const kept = new TableState('rows')
    const mapped = new TableState(undefined, new TableState(undefined, kept))

    expect(mapped.enableSendingOldValues()).toBe(true)
    expect(kept.sendOldValues).toBe(true)
  })

  test('cannot be had when nothing above is kept', () => {
    const mapped = new TableState(undefined, new TableState(undefined))

    expect(mapped.enableSendingOldValues()).toBe(false)
    expect(mapped.sendOldValues).toBe(false)
  })

  test('a filter sends them exactly when the table above has them, also when it is kept itself', () => {
    const aboveKept = new TableState('filtered', new TableState('rows'))
    aboveKept.inheritOldValues()
    expect(aboveKept.sendOldValues).toBe(true)

    const aboveNotKept = new TableState('filtered', new TableState(undefined))
    aboveNotKept.inheritOldValues()
    expect(aboveNotKept.sendOldValues).toBe(false)
  })
})

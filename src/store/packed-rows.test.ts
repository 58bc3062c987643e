import {
  array,
  assert,
  boolean,
  constantFrom,
  option,
  property,
  record,
  string,
  tuple,
} from 'fast-check'
import { expect, test } from 'vitest'
import { MemoryEngine } from '../kv/memory-engine.ts'
import type { TextRange } from '../kv/sorted-rows.ts'
import { SingleTable } from './engine-table.ts'
import { PackedRows } from './packed-rows.ts'
import type { Pin } from './row-stage.ts'
import type { RowSource } from './merged-rows.ts'
import { plainFormat, timestampedFormat, type StoredFormat } from './stored-value.ts'

const limits = { rows: 100, bytes: 10_000 }

function shown(row: Pin): string {
  return `${row.text}=${row.value === null ? 'deleted' : `${row.value.toString('latin1')}@${row.timestamp}`}`
}

function all(source: RowSource<Pin>): string[] {
  const rows: string[] = []
  for (let row = source.next(); row !== undefined; row = source.next()) rows.push(shown(row))
  return rows
}

/** Keys that agree in many bytes, some of them the beginning of others. */
const keys = tuple(
  constantFrom('', 'key-', 'key-with-a-long-part-in-common-with-others-', '\0', '\0\0'),
  string({ unit: constantFrom('\0', 'a', 'b', 'ÿ'), maxLength: 9 }),
).map((parts) => parts.join(''))

const changes = record({
  key: keys,
  value: option(string({ unit: constantFrom('x', 'y'), maxLength: 60 }), { nil: null }),
})

const ranges = record(
  { from: keys, to: keys, toExclusive: boolean(), reverse: boolean() },
  { requiredKeys: [] },
)

function expected(
  model: ReadonlyMap<string, string>,
  { from, to, toExclusive, reverse }: TextRange,
): string[] {
  const found = [...model.keys()]
    .filter((key) => from === undefined || key >= from)
    .filter((key) => to === undefined || (toExclusive === true ? key < to : key <= to))
    .sort()
    .map((key) => `${key}=${model.get(key)}`)
  return reverse === true ? found.reverse() : found
}

test.each([
  ['plain', plainFormat],
  ['timestamped', timestampedFormat],
])('a scan sees the last change of each key as it began, %s', (_name, format: StoredFormat) => {
  const steps = array(record({ change: changes, scan: option(ranges) }), {
    minLength: 1,
    maxLength: 80,
  })
  assert(
    property(steps, (taken) => {
      const rows = new PackedRows(format)
      const model = new Map<string, string>()
      const open: { cursor: RowSource<Pin>; rows: string[] }[] = []
      for (const [timestamp, { change, scan }] of taken.entries()) {
        const { key, value } = change
        const valueBytes = value === null ? null : Buffer.from(value, 'latin1')
        rows.add(Buffer.from(key, 'latin1'), valueBytes, timestamp)
        const shownTimestamp = format.isTimestamped ? timestamp : -1
        model.set(key, value === null ? 'deleted' : `${value}@${shownTimestamp}`)
        expect(rows.size).toBe(model.size)
        const got = rows.get(Buffer.from(key, 'latin1'))
        expect(got?.value).toEqual(valueBytes)
        if (scan !== null) open.push({ cursor: rows.cursor(scan), rows: expected(model, scan) })
      }
      for (const scan of open) expect(all(scan.cursor)).toEqual(scan.rows)
      expect([...rows.values()].map(shown).sort()).toEqual(expected(model, {}).sort())
    }),
  )
})

test('many rows are written, the last change of each, and can be put in again', () => {
  const engine = new MemoryEngine()
  const table = new SingleTable(engine, 't')
  const rows = new PackedRows(plainFormat)
  const write = (): number => {
    const transaction = engine.begin()
    const writing = rows.beginWrite()
    let slices = 1
    while (writing.slice({ transaction, rows: table, format: plainFormat }, limits)) slices += 1
    transaction.commit()
    return slices
  }
  const key = (number: number): Buffer => Buffer.from(`key-${String(number).padStart(6, '0')}`)
  for (let number = 0; number < 40_000; number += 1) {
    rows.add(key((number * 7919) % 20_000), Buffer.from(`${number}`), 1)
  }
  rows.add(key(1), null, 1)
  rows.add(key(20_001), null, 1)
  expect(rows.size).toBe(20_001)
  expect(write()).toBeGreaterThan(200)
  const written = [...engine.table('t').range()]
  expect(written).toHaveLength(19_999)
  expect(written[0]).toEqual({ key: key(0), value: Buffer.from('20000') })
  expect(rows.recycle()).toBe(true)
  expect(rows.bytes).toBe(0)
  expect(rows.get(key(0))).toBeUndefined()
  rows.add(key(0), Buffer.from('again'), 1)
  write()
  expect(engine.table('t').get(key(0))?.toString()).toBe('again')
})

test('rows that somebody scans are not given to others', () => {
  const rows = new PackedRows(plainFormat)
  rows.add(Buffer.from('a'), Buffer.from('1'), 1)
  const cursor = rows.cursor({})
  expect(rows.recycle()).toBe(false)
  rows.add(Buffer.from('a'), Buffer.from('2'), 1)
  expect(all(cursor)).toEqual(['a=1@-1'])
  expect(all(rows.cursor({}))).toEqual(['a=2@-1'])
})

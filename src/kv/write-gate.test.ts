import { expect, test } from 'vitest'
import { WriteGate } from './write-gate.ts'

test('who writes is inside until all that it has begun is ended', () => {
  const gate = new WriteGate()
  const seen = new WriteGate(gate.shared)
  gate.enter()
  gate.enter()
  gate.leave()
  expect(seen.isInside).toBe(true)
  gate.leave()
  expect(seen.isInside).toBe(false)
  expect(seen.entries).toBe(1)
})

test('a gate that was closed lets nobody in, and whoever is inside out', () => {
  const gate = new WriteGate()
  const other = new WriteGate(gate.shared)
  gate.enter()
  other.close()
  expect(other.waitOutside(0)).toBe(false)
  gate.leave()
  expect(other.waitOutside(0)).toBe(true)
})

import { expect, onTestFinished, test, vi } from 'vitest'
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
  expect(seen.steps).toBe(1)
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

test('who comes to a gate that was closed is not inside at any moment', () => {
  const gate = new WriteGate()
  const other = new WriteGate(gate.shared)
  const seen: boolean[] = []
  for (const step of ['or', 'and', 'add', 'compareExchange', 'exchange', 'store'] as const) {
    const done = Atomics[step].bind(Atomics) as (...given: unknown[]) => number
    const looked = (...given: unknown[]): number => {
      const result = done(...given)
      seen.push(other.isInside)
      return result
    }
    vi.spyOn(Atomics, step).mockImplementation(looked as never)
  }
  const standsStill = new Error('for ever')
  vi.spyOn(Atomics, 'wait').mockImplementation(() => {
    throw standsStill
  })
  onTestFinished(() => {
    vi.restoreAllMocks()
  })
  other.close()
  expect(() => gate.enter()).toThrow(standsStill)
  expect(seen.length).toBeGreaterThan(1)
  expect(seen).not.toContain(true)
})

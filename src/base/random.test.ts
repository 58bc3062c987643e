import { expect, test } from 'vitest'
import { randomInteger, randomUuid, seededRandom, systemRandom } from './random.ts'

test('a seed gives the same sequence again', () => {
  const take = (seed: number): number[] => {
    const random = seededRandom(seed)
    return [random.next(), random.next(), random.bytes(1)[0] ?? -1]
  }
  expect(take(7)).toEqual(take(7))
  expect(take(7)).not.toEqual(take(8))
})

test('integers stay below their bound and reach all of it', () => {
  const random = seededRandom(1)
  const seen = new Set(Array.from({ length: 200 }, () => randomInteger(random, 3)))
  expect(seen).toEqual(new Set([0, 1, 2]))
})

test('a UUID has the form of version 4', () => {
  expect(randomUuid(systemRandom)).toMatch(
    /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
  )
})

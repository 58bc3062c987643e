import { expect, test } from 'vitest'
import { DirectoryClaims } from './directory-claims.ts'

const never = (): void => {
  throw new Error('nobody waits for that')
}

test('a directory is of one worker at a time, and who waits is told when it is free', () => {
  const claims = new DirectoryClaims()
  const told: string[] = []

  expect(claims.claim(1, ['0_0', '0_1'], never)).toEqual(new Set(['0_0', '0_1']))
  expect(claims.claim(2, ['0_1', '0_2'], () => told.push('2'))).toEqual(new Set(['0_2']))
  expect(claims.claim(3, ['0_1'], () => told.push('3'))).toEqual(new Set())
  claims.release(1, ['0_0'])
  expect(told).toEqual([])
  claims.release(1, ['0_1'])

  expect(told).toEqual(['2', '3'])
  expect(claims.claim(3, ['0_1'], never)).toEqual(new Set(['0_1']))
  expect(claims.claim(1, ['0_1'], () => undefined)).toEqual(new Set())
})

test('who claims again what it has, has it', () => {
  const claims = new DirectoryClaims()
  claims.claim(1, ['0_0'], never)

  expect(claims.claim(1, ['0_0'], never)).toEqual(new Set(['0_0']))
})

test('only who has a directory can release it', () => {
  const claims = new DirectoryClaims()
  claims.claim(1, ['0_0'], never)

  claims.release(2, ['0_0'])

  expect(claims.claim(2, ['0_0'], () => undefined)).toEqual(new Set())
})

test('a worker that is gone has nothing and waits for nothing', () => {
  const claims = new DirectoryClaims()
  claims.claim(1, ['0_0'], never)
  claims.claim(2, ['0_0'], never)
  let isTold = false
  claims.claim(3, ['0_0'], () => {
    isTold = true
  })

  claims.forget(2)
  claims.forget(1)

  expect(isTold).toBe(true)
  expect(claims.claim(3, ['0_0'], never)).toEqual(new Set(['0_0']))
})

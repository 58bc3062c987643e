import { assertName } from '../base/legal-name.ts'
import { describe, expect, test } from 'vitest'
import { NameProvider } from './naming.ts'

describe('names of steps', () => {
  test('every step takes a number, also when it has a name', () => {
    const names = new NameProvider()

    expect(names.step('KSTREAM-SOURCE-')).toBe('KSTREAM-SOURCE-0000000000')
    expect(names.step('KSTREAM-FILTER-', 'mine')).toBe('mine')
    expect(names.step('KSTREAM-MAP-')).toBe('KSTREAM-MAP-0000000002')
    expect(names.store('KSTREAM-AGGREGATE-')).toBe('KSTREAM-AGGREGATE-STATE-STORE-0000000003')
    expect(names.suffixedStep('KSTREAM-SOURCE-', '-source', 'table')).toBe('table-source')
    expect(names.suffixedStep('KSTREAM-SOURCE-', '-source')).toBe('KSTREAM-SOURCE-0000000005')
  })

  test('a repartition step takes three numbers, and uses them only below a generated name', () => {
    const names = new NameProvider()

    expect(names.repartition('KSTREAM-AGGREGATE-STATE-STORE-0000000003')).toEqual({
      topic: 'KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition',
      sink: 'KSTREAM-SINK-0000000000',
      filter: 'KSTREAM-FILTER-0000000001',
      source: 'KSTREAM-SOURCE-0000000002',
    })
    expect(names.repartition('words')).toEqual({
      topic: 'words-repartition',
      sink: 'words-repartition-sink',
      filter: 'words-repartition-filter',
      source: 'words-repartition-source',
    })
    expect(names.repartition('words-repartition').topic).toBe('words-repartition')
    expect(names.step('KSTREAM-MAP-')).toBe('KSTREAM-MAP-0000000009')
  })

  test('what stands before a suffix must be a name itself', () => {
    expect(() => new NameProvider().suffixedStep('KSTREAM-SOURCE-', '-source', '')).toThrow(
      'it is empty',
    )
  })

  test.each(['a', 'A.b_c-9', '-', '...', 'x'.repeat(249)])('%s is a name', (name) => {
    expect(() => assertName(name, 'a step')).not.toThrow()
  })

  test.each([
    ['', 'it is empty'],
    ['.', 'it stands for a directory'],
    ['..', 'it stands for a directory'],
    ['x'.repeat(250), 'it is longer than 249 characters'],
    ['a b', 'only letters, digits'],
    ['a\n', 'only letters, digits'],
    ['zähler', 'only letters, digits'],
    ['a/b', 'only letters, digits'],
    [7 as unknown as string, 'it must be a string'],
  ])('%j is refused', (name, reason) => {
    expect(() => assertName(name, 'a step')).toThrowError(
      expect.objectContaining({
        code: 'TOPOLOGY_INVALID',
        message: expect.stringContaining(`of a step is not allowed: ${reason}`),
      }),
    )
  })
})

import { expect, test } from 'vitest'
import { nullable } from './nullable.ts'
import { serdes } from './serdes.ts'

/** As a program in JavaScript calls them. */
const makers: Readonly<Record<string, (inner?: never) => unknown>> = {
  nullable: (inner) => nullable(inner as never),
  'serdes.list': (inner) => serdes.list(inner as never),
}
const { json: uncalled } = serdes as unknown as Record<string, never>

test.each(Object.keys(makers))('%s of what is no serde says so', (name) => {
  expect(() => makers[name]?.()).toThrowError(
    expect.objectContaining({
      code: 'SERDE_MISSING',
      message: expect.stringContaining(`No value serde is known for ${name}().`),
    }),
  )
  expect(() => makers[name]?.(uncalled)).toThrowError(
    expect.objectContaining({
      code: 'TOPOLOGY_INVALID',
      message: expect.stringContaining(`the value serde of ${name}() is a function: call it`),
    }),
  )
})

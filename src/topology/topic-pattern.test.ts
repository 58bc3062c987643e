import { expect, test } from 'vitest'
import { TopicPattern } from './topic-pattern.ts'

test.each([
  [/orders-.+/, ['orders-eu', 'orders-a-b'], ['orders-', 'all-orders-eu', 'Orders-eu']],
  [/a|b/, ['a', 'b'], ['ab', 'ac', 'xb']],
  [/^in$/, ['in'], ['ins', 'min']],
  [/in/i, ['IN', 'in'], ['inn']],
])('%s matches whole names', (pattern, matching, others) => {
  const topics = new TopicPattern(pattern)
  for (const topic of matching) expect([topic, topics.matches(topic)]).toEqual([topic, true])
  for (const topic of others) expect([topic, topics.matches(topic)]).toEqual([topic, false])
})

test.each([/in.*/g, /in.*/y, /in.*/gy])(
  '%s remembers nothing from one topic to the next',
  (one) => {
    const topics = new TopicPattern(one)
    expect(['input', 'input', 'in'].map((topic) => topics.matches(topic))).toEqual([
      true,
      true,
      true,
    ])
  },
)

test('is shown as it was written, and known by all that makes a difference', () => {
  const topics = new TopicPattern(/a\/b/gi)
  expect(topics.text).toBe('a/b')
  expect(topics.id).toBe(new TopicPattern(/a\/b/i).id)
  expect(topics.id).not.toBe(new TopicPattern(/a\/b/).id)
})

import { InvalidArgumentError } from 'commander'
import { expect, test } from 'vitest'
import { parseTopic } from './topic-option.ts'

test.each([
  ['lines', { topic: 'lines', partitions: 1, configs: {} }],
  ['lines:6', { topic: 'lines', partitions: 6, configs: {} }],
  [
    'counts:12:cleanup.policy=compact,delete:retention.ms=-1:x=',
    {
      topic: 'counts',
      partitions: 12,
      configs: { 'cleanup.policy': 'compact,delete', 'retention.ms': '-1', x: '' },
    },
  ],
  ['a:1:x=a=b', { topic: 'a', partitions: 1, configs: { x: 'a=b' } }],
])('%s is a topic', (text, topic) => {
  expect(parseTopic(text, undefined)).toEqual([topic])
})

test('topics add up', () => {
  expect(parseTopic('b', parseTopic('a', undefined)).map(({ topic }) => topic)).toEqual(['a', 'b'])
})

test.each([
  ['', 'the name "" of a topic is not allowed: it is empty'],
  ['a b:6', 'only letters, digits'],
  [':6', 'it is empty'],
  ['a:', 'The partitions of a are a whole number from 1 to 10000, not "".'],
  ['a:0', 'The partitions of a are a whole number from 1 to 10000, not "0".'],
  ['a:1.5', 'not "1.5"'],
  ['a:1e2', 'not "1e2"'],
  ['a:10001', 'not "10001"'],
  ['a:cleanup.policy=compact', 'not "cleanup.policy=compact"'],
  ['a:6:compact', 'The configs of a are name=value, not "compact".'],
  ['a:6:=compact', 'not "=compact"'],
  ['a:6:', 'not ""'],
  ['a:6:x=1:x=2', 'The config x of a is given twice.'],
  ['before:6', 'The topic before is given twice.'],
])('%j is refused in plain words', (text, message) => {
  const before = parseTopic('before', undefined)
  expect(() => parseTopic(text, before)).toThrow(InvalidArgumentError)
  expect(() => parseTopic(text, before)).toThrow(message)
})

import { expect, test } from 'vitest'
import { isInternalTopicOf } from './internal-topic-name.ts'

test('internal topics are known by the application and by their ends', () => {
  const isInternal = (topic: string): boolean => isInternalTopicOf('app', topic)
  expect(
    [
      'app-counts-changelog',
      'app-KSTREAM-AGGREGATE-STATE-STORE-0000000003-repartition',
      'app-join-subscription-registration-topic',
      'app-join-subscription-response-topic',
      'app-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-0000000004-topic',
      'app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-0000000012-topic',
    ].every(isInternal),
  ).toBe(true)
  expect(
    [
      'counts-changelog',
      'other-counts-changelog',
      'application-counts-changelog',
      'app-counts',
      'app-changelog-of-events',
      'app-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-x-topic',
    ].some(isInternal),
  ).toBe(false)
})

test('a topic belongs to the application with the longest id that fits', () => {
  const others = ['app', 'app-v2', 'other']
  expect(isInternalTopicOf('app', 'app-v2-counts-changelog', others)).toBe(false)
  expect(isInternalTopicOf('app-v2', 'app-v2-counts-changelog', others)).toBe(true)
  expect(isInternalTopicOf('app', 'app-v1-counts-changelog', others)).toBe(true)
})

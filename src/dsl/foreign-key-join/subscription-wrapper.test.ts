import { describe, expect, test } from 'vitest'
import { serdes } from '../../serde/serdes.ts'
import {
  subscriptionResponseWrapperSerde,
  type SubscriptionResponseWrapper,
} from './subscription-response-wrapper.ts'
import {
  instructions,
  subscriptionWrapperSerde,
  type SubscriptionWrapper,
} from './subscription-wrapper.ts'

const hash = Buffer.from('00112233445566778899aabbccddeeff', 'hex')
const hashText = hash.toString('hex')
const failed = expect.objectContaining({ code: 'SERDE_FAILED' })

describe('the serde of subscriptions', () => {
  const serde = subscriptionWrapperSerde(serdes.string)
  const hex = (wrapper: SubscriptionWrapper): string =>
    Buffer.from(serde.serialize(wrapper)).toString('hex')
  const read = (bytes: string): SubscriptionWrapper => serde.deserialize(Buffer.from(bytes, 'hex'))
  const subscription = {
    instruction: instructions.propagateNullIfNoValue,
    hash,
    primaryKey: 'pk',
    primaryPartition: 7,
  }

  test.each([
    ['version 1', subscription, `0102${hashText}706b00000007`],
    ['version 1 without a hash', { ...subscription, hash: null }, '8102706b00000007'],
    ['version 0', { ...subscription, primaryPartition: undefined }, `0002${hashText}706b`],
    [
      'version 0 without a hash',
      { ...subscription, hash: null, primaryPartition: undefined },
      '8002706b',
    ],
    [
      'an empty key',
      { ...subscription, primaryKey: '', instruction: instructions.deleteNoPropagate },
      `0100${hashText}00000007`,
    ],
  ])('writes and reads %s', (_what, wrapper, bytes) => {
    expect(hex(wrapper)).toBe(bytes)
    expect(read(bytes)).toEqual(wrapper)
  })

  test.each([
    ['no bytes', ''],
    ['a newer version', `0202${hashText}706b00000007`],
    ['an unknown instruction', `0104${hashText}706b00000007`],
    ['a hash that is cut off', '0102001122'],
    ['a partition that is cut off', '81020000'],
    ['only a version', '80'],
  ])('refuses %s', (_what, bytes) => {
    expect(() => read(bytes)).toThrowError(failed)
  })

  test('keeps no bytes that it is given', () => {
    const bytes = Buffer.from(serde.serialize(subscription))
    const wrapper = serde.deserialize(bytes)
    bytes.fill(0)

    expect(wrapper.hash).toEqual(hash)
  })
})

describe('the serde of responses', () => {
  const serde = subscriptionResponseWrapperSerde(serdes.string)
  const hex = (wrapper: SubscriptionResponseWrapper): string =>
    Buffer.from(serde.serialize(wrapper)).toString('hex')
  const read = (bytes: string): SubscriptionResponseWrapper =>
    serde.deserialize(Buffer.from(bytes, 'hex'))
  const response = { hash, foreignValue: 'fv', primaryPartition: undefined }

  test.each([
    ['a value', response, `00${hashText}6676`],
    ['no value', { ...response, foreignValue: undefined }, `00${hashText}`],
    ['a value without a hash', { ...response, hash: null }, '806676'],
    ['nothing at all', { ...response, hash: null, foreignValue: undefined }, '80'],
  ])('writes and reads %s', (_what, wrapper, bytes) => {
    expect(hex(wrapper)).toBe(bytes)
    expect(read(bytes)).toEqual(wrapper)
  })

  test('does not write where the left row is', () => {
    expect(hex({ ...response, primaryPartition: 3 })).toBe(`00${hashText}6676`)
  })

  test('reads an empty value as none, as Kafka Streams does', () => {
    expect(read(hex({ ...response, foreignValue: '' }))).toEqual({
      ...response,
      foreignValue: undefined,
    })
  })

  test.each([
    ['no bytes', ''],
    ['a newer version', `01${hashText}6676`],
    ['a hash that is cut off', '000011'],
  ])('refuses %s', (_what, bytes) => {
    expect(() => read(bytes)).toThrowError(failed)
  })
})

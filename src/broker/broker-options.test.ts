import { expect, test } from 'vitest'
import { thrownBy } from '../../test/peers/thrown-by.ts'
import { checkBrokerOptions } from './broker-options.ts'

test.each([
  [null, 'options'],
  ['9092', 'options'],
  [{ host: 5 }, 'host'],
  [{ host: '' }, 'host'],
  [{ port: '9092' }, 'port'],
  [{ port: -1 }, 'port'],
  [{ port: 65_536 }, 'port'],
  [{ topicDefaults: null }, 'topicDefaults'],
  [{ topicDefaults: 'compact' }, 'topicDefaults'],
  [{ defaultPartitions: 0 }, 'defaultPartitions'],
])('%j is refused with the name of what is wrong', (options, option) => {
  expect(thrownBy(() => checkBrokerOptions(options as never))).toMatchObject({
    code: 'CONFIG_INVALID',
    context: { option },
  })
})

test('a host and a port that there are, and nothing at all, are fine', () => {
  for (const options of [{}, { host: '::1', port: 0 }, { host: 'localhost', port: 65_535 }])
    expect(() => checkBrokerOptions(options)).not.toThrow()
})

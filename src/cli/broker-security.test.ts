import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { brokerSecurity } from './broker-security.ts'

let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'millpond-test-'))
})

afterEach(() => rmSync(directory, { recursive: true }))

function file(text: string): string {
  const path = join(directory, 'file')
  writeFileSync(path, text)
  return path
}

test('without files there is no security', () => {
  expect(brokerSecurity({})).toEqual({})
})

test('users are read line by line', () => {
  const saslUsers = file('# of the tests\nalice:a:b c\n\r\nbob:ü\n')
  expect(brokerSecurity({ saslUsers })).toEqual({ sasl: { users: { alice: 'a:b c', bob: 'ü' } } })
})

test('certificate and key are read', () => {
  const path = file('pem')
  expect(brokerSecurity({ tlsCert: path, tlsKey: path })).toEqual({
    tls: { cert: 'pem', key: 'pem' },
  })
})

test.each([
  ['', 'There is no user in'],
  ['alice:a\nsecret-without-name', 'Line 2 of'],
  [':secret-word', 'Line 1 of'],
  ['alice:', 'Line 1 of'],
  ['alice:secret-1\nalice:secret-2', 'The user alice is in'],
])('users in %j are refused, and no password is shown', (text, message) => {
  const saslUsers = file(text)
  expect(() => brokerSecurity({ saslUsers })).toThrow(message)
  expect(() => brokerSecurity({ saslUsers })).not.toThrow('secret')
})

test('files that do not fit together are refused', () => {
  expect(() => brokerSecurity({ tlsCert: file('pem') })).toThrow('are given together')
  expect(() => brokerSecurity({ saslUsers: join(directory, 'none') })).toThrow('cannot be read')
})

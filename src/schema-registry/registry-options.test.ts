import { expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { resolveRegistryOptions, type SchemaRegistryOptions } from './registry-options.ts'

const secret = 'sesame-4711'

function refusal(options: unknown): string {
  try {
    resolveRegistryOptions(options as SchemaRegistryOptions)
  } catch (error) {
    if (isStreamsError(error, 'CONFIG_INVALID')) {
      return `${error.message} ${JSON.stringify(error.context)} ${String(error.cause)} ${error.stack}`
    }
    throw error
  }
  throw new Error('nothing was refused')
}

test('servers keep their path and lose the slash at the end', () => {
  const { servers, mock, timeoutMs } = resolveRegistryOptions({
    urls: ['http://a:8081', 'https://b.example/api/'],
  })
  expect(servers).toEqual(['http://a:8081', 'https://b.example/api'])
  expect(mock).toBeUndefined()
  expect(timeoutMs).toBe(10_000)
})

test('a user in the url becomes a header, and is not in the url any more', () => {
  const { servers, headers, secrets } = resolveRegistryOptions({
    url: `http://me:${encodeURIComponent('p@ss word')}@a`,
  })
  expect(servers).toEqual(['http://a'])
  const encoded = Buffer.from('me:p@ss word').toString('base64')
  expect(headers['authorization']).toBe(`Basic ${encoded}`)
  expect(secrets).toContain('p@ss word')
  expect(secrets).toContain(encoded)
})

test('users, tokens and headers of others are sent', () => {
  const basic = resolveRegistryOptions({
    url: 'http://a',
    auth: { username: 'k', password: secret },
  })
  expect(basic.headers['authorization']).toBe(
    `Basic ${Buffer.from(`k:${secret}`).toString('base64')}`,
  )
  const bearer = resolveRegistryOptions({
    url: 'http://a',
    auth: { token: secret },
    headers: { 'X-Tenant': 'lsrc-1' },
  })
  expect(bearer.headers).toEqual({
    'x-tenant': 'lsrc-1',
    accept: 'application/vnd.schemaregistry.v1+json',
    'content-type': 'application/vnd.schemaregistry.v1+json',
    authorization: `Bearer ${secret}`,
  })
  expect(bearer.secrets).toEqual(expect.arrayContaining([secret, 'lsrc-1']))
})

test.each([
  [undefined, 'SchemaRegistry'],
  [null, 'SchemaRegistry'],
  ['http://a', 'SchemaRegistry'],
  [[], 'SchemaRegistry'],
  [{}, 'url'],
  [{ urls: [] }, 'url'],
  [{ url: 'http://a', urls: ['http://b'] }, 'urls'],
  [{ url: 'a:8081' }, 'url'],
  [{ url: '' }, 'url'],
  [{ url: 5 }, 'url'],
  [{ url: 'ftp://a' }, 'url'],
  [{ url: 'http://a/?x=1' }, 'url'],
  [{ urls: ['http://a', 'mock://b'] }, 'urls'],
  [{ url: 'http://a', timeoutMs: 0 }, 'timeoutMs'],
  [{ url: 'http://a', timeoutMs: 1.5 }, 'timeoutMs'],
  [{ url: 'http://a', timeoutMs: 2 ** 31 }, 'timeoutMs'],
  [{ url: 'http://a', timeoutMs: '5' }, 'timeoutMs'],
  [{ url: 'http://a', tls: { caa: '' } }, 'caa'],
  [{ url: 'http://a', timeout: 5 }, 'timeout'],
  [{ url: 'http://a', headers: { 'a b': 'x' } }, 'headers'],
  [{ url: 'http://a', headers: 'x' }, 'headers'],
])('the options %j are refused, at %s', (options, option) => {
  expect(refusal(options)).toContain(`The option ${option} is not valid`)
})

test.each([
  { url: `http://me:${secret}@ a` },
  { url: `http://me:${secret}@a?x` },
  { url: `http://me:${secret}@a`, auth: { token: 'x' } },
  { url: 'http://a', auth: { token: `${secret}\n` } },
  { url: 'http://a', auth: { token: secret, username: 'a', password: 'b' } },
  { url: 'http://a', auth: { username: 'a', pass: secret } },
  { url: 'http://a', auth: secret },
  { url: 'http://a', headers: { 'x-api-key': `${secret}\r\nx: y` } },
  { url: 'http://a', headers: { 'x-api-key': [secret] } },
])('what is refused does not show its secrets: %#', (options) => {
  expect(refusal(options)).not.toContain(secret)
})

import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { localhostCertificate } from '../../test/peers/localhost-certificate.ts'
import { seededRandom } from '../base/random.ts'
import { readCommandConfig } from './command-config.ts'

let directory: string

beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'millpond-test-'))
  writeFileSync(join(directory, 'cert.pem'), localhostCertificate.cert)
  writeFileSync(join(directory, 'key.pem'), localhostCertificate.key)
})

afterAll(() => rmSync(directory, { recursive: true }))

function file(text: string): string {
  const path = join(directory, 'client.json')
  writeFileSync(path, text)
  return path
}

test('an empty object is no security', () => {
  expect(readCommandConfig(file('{}')).tls).toBeUndefined()
})

test('certificates and keys are read from where the file is', () => {
  const tls = { ca: ['cert.pem'], cert: 'cert.pem', key: join(directory, 'key.pem') }
  const sasl = { mechanism: 'plain', username: 'alice', password: 'secret' }
  const security = readCommandConfig(file(JSON.stringify({ tls, sasl })))
  expect(security.tls).toHaveProperty('secureContext')
  expect(security.authentication(seededRandom(1))).toBeTypeOf('function')
})

test.each([
  ['{ "tls": true, "password": "secret" }', 'it has no password'],
  ['{ "sasl": "secret" ', 'it is not a JSON object'],
  ['["secret"]', 'it is not a JSON object'],
  ['{ "tls": "secret" }', 'tls: it must be true'],
  ['{ "tls": { "ca": 7 } }', 'is the path of a file'],
  ['{ "tls": { "ca": "none.pem" } }', 'no such file'],
  ['{ "tls": { "cert": "cert.pem" } }', 'cert and key are given together'],
  ['{ "sasl": { "mechanism": "plain", "password": "secret" } }', 'sasl: username'],
  ['{ "sasl": { "mechanism": "digest", "password": "secret" } }', 'not "digest"'],
])('%s is refused, and no secret is shown', (text, detail) => {
  const path = file(text)
  expect(() => readCommandConfig(path)).toThrow(detail)
  expect(() => readCommandConfig(path)).not.toThrow(/"secret"|: secret/)
})

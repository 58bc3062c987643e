import { createPrivateKey, X509Certificate } from 'node:crypto'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import {
  localhostCertificate,
  strangerCertificate,
} from '../../test/peers/localhost-certificate.ts'
import { connectionOptions, isTlsRecord, tlsProblem, tlsServerProblem } from './tls.ts'

const { cert, key } = localhostCertificate
const passphrase = 'open sesame'
const locked = createPrivateKey(key).export({
  type: 'pkcs8',
  format: 'pem',
  cipher: 'aes-256-cbc',
  passphrase,
})

test.each([
  [true],
  [false],
  [{}],
  [{ ca: cert }],
  [{ ca: [Buffer.from(cert), strangerCertificate.cert] }],
  [{ ca: `# Two that sign\n${cert}\n${strangerCertificate.cert}` }],
  [{ cert, key }],
  [{ cert, key: locked, passphrase }],
  [{ servername: 'kafka', rejectUnauthorized: false, minVersion: 'TLSv1.3' }],
  [{ checkServerIdentity: () => undefined }],
])('these options of a client are taken (%#)', (options) => {
  expect(tlsProblem(options)).toBeUndefined()
})

test.each([
  ['yes', 'it must be true, or an object'],
  [[], 'it must be true, or an object'],
  [{ caFile: 'ca.pem' }, 'it has no caFile; there are ca, cert'],
  [{ rejectUnauthorized: 'false' }, 'rejectUnauthorized must be true or false, not "false"'],
  [{ servername: 7 }, 'servername must be a string, not 7'],
  [{ checkServerIdentity: true }, 'checkServerIdentity must be a function'],
  [{ cert }, 'cert and key are given together'],
  [{ key }, 'cert and key are given together'],
  [{ cert: strangerCertificate.cert, key }, 'cannot be used'],
  [{ cert: '-----BEGIN NOTHING-----', key }, 'cannot be used'],
  [{ cert, key: locked, passphrase: 'open barley' }, 'cannot be used'],
  [{ pfx: Buffer.from('no such file') }, 'cannot be used'],
  [{ minVersion: 'TLSv9' }, "minVersion must be 'TLSv1.2' or 'TLSv1.3'"],
  [{ minVersion: 'TLSv1' }, "minVersion must be 'TLSv1.2' or 'TLSv1.3'"],
  [{ ca: 7 }, 'cannot be used'],
  [{ ca: '/etc/kafka/ca.pem' }, 'ca must be certificates in PEM'],
  [{ ca: [cert, 'ca.pem'] }, 'ca must be certificates in PEM'],
  [{ ca: new X509Certificate(cert).raw }, 'ca must be certificates in PEM'],
  [{ ca: key }, 'ca must be certificates in PEM'],
  [{ ca: '' }, 'ca is empty'],
  [{ ca: [] }, 'ca is empty'],
  [{ ca: null }, 'ca is empty'],
  [{ cert: '', key: '' }, 'cert is empty'],
  [{ pfx: Buffer.alloc(0) }, 'pfx is empty'],
])('these options of a client are refused, and no secret is shown (%#)', (options, detail) => {
  const problem = tlsProblem(options)
  expect(problem).toContain(detail)
  expect(problem).not.toContain('BEGIN')
  expect(problem).not.toContain('barley')
})

test('a server needs certificate and key, and may ask clients for theirs', () => {
  expect(tlsServerProblem({ cert, key })).toBeUndefined()
  const mutual = { cert, key, ca: cert, clientCertificate: 'required' }
  expect(tlsServerProblem(mutual)).toBeUndefined()
})

test.each([
  [true, 'it must be an object with cert'],
  [{ cert }, 'it needs cert and key'],
  [{ cert, key, clientCertificate: 'required' }, 'it needs ca'],
  [{ cert, key, clientCertificate: 'maybe' }, "'none' or 'required', not \"maybe\""],
  [{ cert, key, port: 1 }, 'it has no port'],
])('these options of a server are refused (%#)', (options, detail) => {
  expect(tlsServerProblem(options)).toContain(detail)
})

test('keys are in a context, which shows nothing of them', () => {
  const shown = inspect(connectionOptions({ ca: cert, cert, key: locked, passphrase }), {
    depth: Infinity,
    showHidden: true,
  })
  expect(shown).toContain('secureContext')
  for (const secret of [passphrase, 'PRIVATE KEY', locked.toString().slice(40, 80)])
    expect(shown).not.toContain(secret)
})

test('an alert and a handshake of TLS are known by their first bytes', () => {
  expect(isTlsRecord(0x15030300)).toBe(true)
  expect(isTlsRecord(0x16030100)).toBe(true)
  expect(isTlsRecord(0x48545450)).toBe(false)
  expect(isTlsRecord(0x7fffffff)).toBe(false)
})

import { describe, expect, test } from 'vitest'
import {
  authMessage,
  clientFinalWithoutProof,
  clientFirst,
  clientProof,
  isProof,
  parseClientFinal,
  parseClientFirst,
  parseServerFinal,
  parseServerFirst,
  saltedPassword,
  scramCredential,
  scramName,
  serverFirst,
  serverKeyOf,
  serverSignature,
} from './scram.ts'

/**
 * The exchange of RFC 7677 (SHA-256), and its counterpart for SHA-512 that the test suites of several
 * implementations share (Qpid, Vert.x, Kroxylicious, melnikov's draft has none).
 */
const vectors = [
  {
    hash: 'sha256',
    serverFirst:
      'r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096',
    clientFinal:
      'c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=',
    serverFinal: 'v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=',
  },
  {
    hash: 'sha512',
    serverFirst:
      'r=rOprNGfwEbeRWgbNEkqO02431b08-2f89-4bad-a4e6-80c0564ec865,s=Yin2FuHTt/M0kJWb0t9OI32n2VmOGi3m+JfjOvuDF88=,i=4096',
    clientFinal:
      'c=biws,r=rOprNGfwEbeRWgbNEkqO02431b08-2f89-4bad-a4e6-80c0564ec865,p=Hc5yec3NmCD7t+kFRw4/3yD6/F3SQHc7AVYschRja+Bc3sbdjlA0eH1OjJc0DD4ghn1tnXN5/Wr6qm9xmaHt4A==',
    serverFinal:
      'v=BQuhnKHqYDwQWS5jAw4sZed+C9KFUALsbrq81bB0mh+bcUUbbMPNNmBIupnS2AmyyDnG5CTBQtkjJ9kyY4kzmw==',
  },
] as const

describe.each(vectors)('the exchange of $hash that the standards show', (vector) => {
  const { hash } = vector
  const first = clientFirst('user', 'rOprNGfwEbeRWgbNEkqO')

  test('is what a client says', async () => {
    expect(first.text).toBe('n,,n=user,r=rOprNGfwEbeRWgbNEkqO')
    const answer = parseServerFirst(vector.serverFirst)
    if (answer === undefined) throw new Error('it cannot be read')
    const salted = await saltedPassword(hash, 'pencil', answer)
    const withoutProof = clientFinalWithoutProof(answer.nonce)
    const message = authMessage(first, answer, withoutProof)
    const proof = clientProof(hash, salted, message).toString('base64')
    expect(`${withoutProof},p=${proof}`).toBe(vector.clientFinal)
    const signature = serverSignature(hash, serverKeyOf(hash, salted), message)
    expect(parseServerFinal(vector.serverFinal)).toEqual({ signature })
  })

  test('is what a server says', async () => {
    const read = parseClientFirst(first.text)
    const final = parseClientFinal(vector.clientFinal)
    const salt = parseServerFirst(vector.serverFirst)
    if (read === undefined || final === undefined || salt === undefined)
      throw new Error('it cannot be read')
    const credential = await scramCredential(hash, 'pencil', salt)
    const answer = serverFirst(final.nonce, credential)
    expect(answer.text).toBe(vector.serverFirst)
    const message = authMessage(read, answer, final.withoutProof)
    const { storedKey, serverKey } = credential
    expect(isProof(hash, final.proof, { storedKey, message })).toBe(true)
    expect(isProof(hash, Buffer.alloc(final.proof.length), { storedKey, message })).toBe(false)
    expect(isProof(hash, Buffer.alloc(1), { storedKey, message })).toBe(false)
    const signature = serverSignature(hash, serverKey, message).toString('base64')
    expect(`v=${signature}`).toBe(vector.serverFinal)
  })
})

test('a name keeps what separates the parts of a message', () => {
  expect(scramName('a=b,c')).toBe('a=3Db=2Cc')
  expect(parseClientFirst(clientFirst('a=b,c', 'n').text)?.username).toBe('a=b,c')
})

test.each([
  ['y,,n=user,r=x'],
  ['n,,n=user'],
  ['n,,n=us=er,r=x'],
  ['n,,n=,r=x'],
  ['n,,n=user,r='],
  ['n,,n=user,r=a b'],
  ['n,a=other,n=user,r=x'],
  ['p=tls-unique,,n=user,r=x'],
])('%j is no first message of a client', (text) => {
  expect(parseClientFirst(text)).toBeUndefined()
})

test('a client may say for whom it acts when that is the user, and add extensions', () => {
  expect(parseClientFirst('n,a=user,n=user,r=x,t=true')).toEqual({
    username: 'user',
    nonce: 'x',
    bare: 'n=user,r=x,t=true',
  })
})

test.each([
  ['r=x,s=AAAA'],
  ['r=x,s=AAAA,i=many'],
  ['r=x,s=A,i=4096'],
  ['m=ext,r=x,s=AAAA,i=4096'],
  [''],
])('%j is no first message of a server', (text) => {
  expect(parseServerFirst(text)).toBeUndefined()
})

test('a server may refuse in its last message', () => {
  expect(parseServerFinal('e=invalid-proof')).toEqual({ refusal: 'invalid-proof' })
  expect(parseServerFinal('x=1')).toBeUndefined()
})

test('a last message that binds a channel is not taken', () => {
  expect(parseClientFinal('c=cD10bHMtdW5pcXVlLCw=,r=x,p=AAAA')).toBeUndefined()
})

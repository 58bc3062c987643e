import { expect, test } from 'vitest'
import { saslProblem } from './sasl-options.ts'

const secret = 'hunter2-secret'

test.each([
  { mechanism: 'plain', username: 'u', password: secret },
  { mechanism: 'scram-sha-256', username: 'u', password: secret },
  { mechanism: 'scram-sha-512', username: 'u,=ü', password: secret },
  { mechanism: 'oauthbearer', token: () => ({ value: secret }) },
  { mechanism: 'custom', name: 'AWS_MSK_IAM', authenticate: async () => undefined },
])('$mechanism is taken', (options) => {
  expect(saslProblem(options)).toBeUndefined()
})

test.each([
  [secret, 'it must be an object with a mechanism'],
  [null, 'it must be an object with a mechanism'],
  [{ mechanism: 'PLAIN', username: 'u', password: secret }, 'not "PLAIN"'],
  [{ username: 'u', password: secret }, 'not undefined'],
  [{ mechanism: 'plain', username: 'u' }, 'password must be a string'],
  [{ mechanism: 'plain', username: '', password: secret }, 'username must be a string'],
  [{ mechanism: 'plain', username: 'u', password: `${secret}\0` }, 'the character NUL'],
  [{ mechanism: 'scram-sha-256', username: 7, password: secret }, 'username must be a string'],
  [{ mechanism: 'plain', user: 'u', password: secret }, "'plain' has no user"],
  [{ mechanism: 'oauthbearer', token: secret }, 'token must be a function'],
  [{ mechanism: 'oauthbearer', password: secret }, "'oauthbearer' has no password"],
  [{ mechanism: 'custom', name: 'gssapi', authenticate: () => secret }, 'not "gssapi"'],
  [{ mechanism: 'custom', name: 'GSSAPI', authenticate: secret }, 'must be a function'],
])('%j is refused, and no secret is shown', (options, detail) => {
  expect(saslProblem(options)).toContain(detail)
  expect(saslProblem(options)).not.toContain(secret)
})

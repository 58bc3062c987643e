import { array, int16, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Chooses a SASL mechanism. After v0 the tokens follow bare; after v1 in SaslAuthenticate. */
export const saslHandshake = defineApi({
  key: 17,
  name: 'SaslHandshake',
  versions: [0, 1],
  request: { mechanism: string() },
  response: { errorCode: int16(), mechanisms: array(string()) },
})

import { bytes, int16, int64, string } from '../field.ts'
import { defineApi } from '../schema.ts'

/** Carries one SASL token each way. */
export const saslAuthenticate = defineApi({
  key: 36,
  name: 'SaslAuthenticate',
  versions: [0, 2],
  flexible: 2,
  request: { authBytes: bytes() },
  response: {
    errorCode: int16(),
    errorMessage: string({ nullable: 0 }),
    authBytes: bytes(),
    /** After this time the client must authenticate again; 0 for never (KIP-368). */
    sessionLifetimeMs: int64({ since: 1, ignorable: true }),
  },
})

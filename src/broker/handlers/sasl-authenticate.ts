import type { saslAuthenticate } from '../../protocol/messages/36-sasl-authenticate.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'

/** A client says who it is. */
export function handleSaslAuthenticate(
  { authBytes }: RequestOf<typeof saslAuthenticate>,
  { session }: RequestContext,
): Promise<ResponseInputOf<typeof saslAuthenticate>> {
  return session.authenticate(Buffer.from(authBytes))
}

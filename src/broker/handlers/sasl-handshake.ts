import { StreamsError } from '../../errors.ts'
import { saslHandshake } from '../../protocol/messages/17-sasl-handshake.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'

/** A client chooses how it will say who it is. */
export function handleSaslHandshake(
  { mechanism }: RequestOf<typeof saslHandshake>,
  { session, apiVersion }: RequestContext,
): ResponseInputOf<typeof saslHandshake> {
  // After version 0 messages without a header would follow: no client of today does that.
  if (apiVersion === 0) {
    const detail = 'version 1 is the first that is answered here'
    throw new StreamsError('PROTOCOL_UNSUPPORTED_VERSION', {
      api: saslHandshake.name,
      version: apiVersion,
      detail,
    })
  }
  return session.handshake(mechanism)
}

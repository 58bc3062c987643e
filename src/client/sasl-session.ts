import { StreamsError } from '../errors.ts'
import { errorCode, kafkaError } from '../protocol/error-codes.ts'
import { saslHandshake } from '../protocol/messages/17-sasl-handshake.ts'
import { saslAuthenticate } from '../protocol/messages/36-sasl-authenticate.ts'
import type { AnyApi, Api } from '../protocol/schema.ts'
import { kafkaFailure } from './kafka-failure.ts'
import type { RequestBody } from './request-frame.ts'
import type { SaslMechanism } from './sasl-mechanism.ts'

/** A connection on which nothing but authentication is under way. */
export interface AuthenticationChannel {
  readonly host: string
  readonly port: number
  /** Aborts when the connection ends. */
  readonly signal: AbortSignal
  versionOf(api: AnyApi): number
  request<In, Response>(
    api: Api<In, unknown, unknown, Response>,
    body: RequestBody<In>,
  ): Promise<Response>
}

/** Before it the messages of a mechanism go without a header, which nobody needs any more. */
const handshakeVersionMin = 1

/** A mechanism that does not come to its end by then is not going to. */
const messagesMax = 100

/**
 * Says who we are: handshake, then the messages of the mechanism. Resolves with the milliseconds after
 * which it has to be said again, 0 for never (KIP-368). Rejects with `SASL_AUTHENTICATION_FAILED`,
 * `SASL_MECHANISM_UNSUPPORTED`, or what the connection fails with. Java's SaslClientAuthenticator.
 */
export async function authenticate(
  mechanism: SaslMechanism,
  channel: AuthenticationChannel,
): Promise<number> {
  await handshake(mechanism, channel)
  let sessionLifetimeMs = 0
  let messages = 0
  const { host, port, signal } = channel
  await mechanism.authenticate({
    host,
    port,
    signal,
    send: async (bytes) => {
      messages += 1
      if (messages > messagesMax) throw refusal(mechanism, channel, 'it never comes to an end')
      const response = await channel.request(saslAuthenticate, { authBytes: Buffer.from(bytes) })
      const { errorCode: code, errorMessage } = response
      if (code !== errorCode.NONE) throw failure(mechanism, channel, { code, errorMessage })
      sessionLifetimeMs = response.sessionLifetimeMs
      return Buffer.from(response.authBytes)
    },
  })
  if (messages === 0) throw refusal(mechanism, channel, 'nothing was said to the broker')
  return sessionLifetimeMs
}

async function handshake({ name }: SaslMechanism, channel: AuthenticationChannel): Promise<void> {
  const broker = `${channel.host}:${channel.port}`
  if (channel.versionOf(saslHandshake) < handshakeVersionMin) {
    throw new StreamsError('PROTOCOL_UNSUPPORTED_VERSION', {
      api: saslHandshake.name,
      version: handshakeVersionMin,
      detail: `${broker} is older than Kafka 1.0`,
    })
  }
  const { errorCode: code, mechanisms } = await channel.request(saslHandshake, { mechanism: name })
  if (code === errorCode.NONE) return
  if (code === errorCode.UNSUPPORTED_SASL_MECHANISM) {
    const offered = mechanisms.join(', ')
    throw new StreamsError('SASL_MECHANISM_UNSUPPORTED', { broker, mechanism: name, offered })
  }
  if (code === errorCode.ILLEGAL_SASL_STATE) {
    const detail = 'this port wants no authentication, leave it out or take another port'
    throw new StreamsError('SASL_AUTHENTICATION_FAILED', { broker, mechanism: name, detail })
  }
  throw kafkaFailure(saslHandshake.name, code, { subject: broker })
}

function failure(
  mechanism: SaslMechanism,
  channel: AuthenticationChannel,
  { code, errorMessage }: { readonly code: number; readonly errorMessage: string | null },
): StreamsError {
  const { retriable, message } = kafkaError(code)
  if (!retriable) return refusal(mechanism, channel, errorMessage ?? message)
  const subject = `${channel.host}:${channel.port}`
  return kafkaFailure(saslAuthenticate.name, code, { subject, detail: errorMessage })
}

function refusal(
  { name }: SaslMechanism,
  { host, port }: AuthenticationChannel,
  detail: string,
): StreamsError {
  const broker = `${host}:${port}`
  return new StreamsError('SASL_AUTHENTICATION_FAILED', { broker, mechanism: name, detail })
}

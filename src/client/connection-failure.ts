import { isStreamsError, messageOf, StreamsError } from '../errors.ts'

/** The end of a connection, as those learn it who wait for answers. */
export function connectionClosed(
  broker: string,
  cause: unknown,
  detail: string | undefined,
): StreamsError {
  return new StreamsError('CONNECTION_CLOSED', { broker, detail }, { cause })
}

/** What a failure while a connection is being made is to the caller. */
export function notConnected(broker: string, cause: unknown): unknown {
  const isOfTheWay =
    isStreamsError(cause, 'REQUEST_TIMEOUT') ||
    isStreamsError(cause, 'CONNECTION_CLOSED') ||
    isStreamsError(cause, 'PROTOCOL_MALFORMED') ||
    !isStreamsError(cause)
  if (!isOfTheWay) return cause
  return new StreamsError('BROKER_UNREACHABLE', { broker, detail: messageOf(cause) }, { cause })
}

/**
 * Why a broker may have hung up without a word, in the place of an answer: Kafka does so when
 * something else is spoken on its port.
 */
export const hangUpHint = {
  /** Where the versions were to come. */
  versions: 'before it said anything; does this port speak TLS (the option tls)?',
  /** The same, on a connection with TLS. */
  versionsInTls:
    'before it said anything; does it want another certificate of this client (cert and key of the option tls)?',
  /** Where the answer to the first request was to come that is not about the connection itself. */
  firstRequest: 'on the first request; does this port want authentication (the option sasl)?',
} as const

/** Bytes that are no request never reach a route: what is said to them is written by hand. */
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { StreamsError } from '../errors.ts'
import { ClientConnection } from './client-connection.ts'
import { problemContentType, problemOf, problemText } from './problem.ts'

/** Says what is wrong with what came in place of a request, and ends the connection. */
export function refuseMalformed(
  { code = '' }: { readonly code?: string },
  socket: Socket,
  headerBytesMax: number,
): void {
  // The client would take it for the answer to a request before it.
  const isMisleading = ClientConnection.of(socket).unanswered > 0
  if (isMisleading || !socket.writable) socket.destroy()
  else socket.end(answerOf(errorOf(code, headerBytesMax)))
}

/** Says that there is nothing to connect to, and ends the connection. */
export function refuseConnect(socket: Socket): void {
  // Node has taken its hands off this socket, and with them the listener for this.
  socket.on('error', () => undefined)
  socket.end(answerOf(malformed('CONNECT is for proxies')))
}

function errorOf(code: string, headerBytesMax: number): StreamsError {
  switch (code) {
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new StreamsError('REQUEST_INCOMPLETE')
    case 'HPE_HEADER_OVERFLOW':
      return malformed(`request line and headers have more than ${headerBytesMax} bytes`)
    default:
      return malformed('the bytes are not HTTP')
  }
}

function malformed(detail: string): StreamsError {
  return new StreamsError('REQUEST_MALFORMED', { detail })
}

function answerOf(error: StreamsError): string {
  const problem = problemOf(error)
  const body = problemText(problem)
  return [
    `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status] ?? ''}`,
    `Content-Type: ${problemContentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

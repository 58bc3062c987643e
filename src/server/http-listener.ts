import type { AddressInfo } from 'node:net'
import type { Clock } from '../base/clock.ts'
import { StreamsError, messageOf } from '../errors.ts'
import type { TypedApp } from './typed-app.ts'

/** Milliseconds that questions under way have to end when the service closes. */
const drainTimeoutMs = 5000

/**
 * Opens the port; returns the one that it is. Rejects with `ADDRESS_IN_USE`, or `CONFIG_INVALID`
 * for a host or port that this process cannot have.
 */
export async function openPort(
  app: TypedApp,
  { host, port }: { host: string; port: number },
): Promise<number> {
  try {
    await app.listen({ host, port, listenTextResolver: () => '' })
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'EADDRINUSE') throw new StreamsError('ADDRESS_IN_USE', { host, port }, { cause })
    const detail = messageOf(cause)
    throw new StreamsError('CONFIG_INVALID', { option: 'http', detail }, { cause })
  }
  return (app.server.address() as AddressInfo).port
}

/** Takes no new connections, lets questions under way end, and cuts what does not end in time. */
export async function closePort(app: TypedApp, clock: Clock): Promise<void> {
  using _timer = clock.setTimer(drainTimeoutMs, () => app.server.closeAllConnections())
  await app.close()
}

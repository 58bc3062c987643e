import { StreamsError } from '../errors.ts'

/** True for a host that only this machine reaches: 127.0.0.0/8, ::1 and localhost. */
export function isLoopback(host: string): boolean {
  const bare = host.replace(/^\[|\]$/g, '').toLowerCase()
  if (bare === 'localhost' || bare === '::1') return true
  return /^127(?:\.\d{1,3}){3}$/.test(bare)
}

/** Throws `LISTENER_INSECURE` for a host that others reach, unless that was written out. */
export function assertListenerSecure(host: string, auth: 'none' | undefined): void {
  if (auth !== 'none' && !isLoopback(host)) throw new StreamsError('LISTENER_INSECURE', { host })
}

import { StreamsError } from '../errors.ts'
import { shownValue } from './shown-value.ts'

const nameLengthMax = 249

/**
 * Refuses a name that Kafka would refuse for a topic: steps, stores and topics give their names to
 * topics, files and metrics. Java's Named.validate. `what` is for the message.
 */
export function assertName(name: unknown, what: string): asserts name is string {
  const illegal = reasonOfIllegalName(name)
  if (illegal === undefined) return
  const detail = `the name ${shownValue(name)} of ${what} is not allowed: ${illegal}`
  throw new StreamsError('TOPOLOGY_INVALID', { detail, name })
}

/** Why Kafka would refuse the name; undefined: it is fine. */
export function reasonOfIllegalName(name: unknown): string | undefined {
  if (typeof name !== 'string') return 'it must be a string'
  if (name === '') return 'it is empty'
  if (name === '.' || name === '..') return 'it stands for a directory'
  if (name.length > nameLengthMax) return `it is longer than ${nameLengthMax} characters`
  if (!/^[a-zA-Z0-9._-]+$/.test(name)) {
    return 'only letters, digits, ".", "_" and "-" may be used'
  }
  return undefined
}

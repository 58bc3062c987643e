import type { Topology } from 'millpond'
import { countRecords } from './counts.ts'
import type { Settings } from './settings.ts'

/** Counts the records of each key; the runner asks for exactly-once. */
export function exactlyOnce(settings: Settings): Topology {
  return countRecords(settings)
}

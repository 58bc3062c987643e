import type { Topology } from 'millpond'
import { countRecords } from './counts.ts'
import type { Settings } from './settings.ts'

/** A count whose input is empty and whose changelog is long. */
export function restore(settings: Settings): Topology {
  return countRecords(settings)
}

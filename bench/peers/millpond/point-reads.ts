import type { StreamsConfig, Topology } from 'millpond'
import { serve, type Service } from 'millpond/server'
import { counts, countRecords } from './counts.ts'
import type { Settings } from './settings.ts'

export function pointReads(settings: Settings): Topology {
  return countRecords(settings)
}

/** Counts, with the HTTP service of Millpond at a free port of loopback. */
export function serveCounts(topology: Topology, config: StreamsConfig): Promise<Service> {
  return serve(topology, {
    ...config,
    http: { port: 0 },
    expose: { [counts.name]: { operations: ['get'] } },
  })
}

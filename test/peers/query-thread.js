/**
 * A thread with stores, as a test and a benchmark need one: `query-thread.ts`, read by tsx, which a thread
 * does not inherit everywhere.
 */
import { register } from 'tsx/esm/api'

register()
await import('./query-thread.ts')

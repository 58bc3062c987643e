import { shutdownSignal } from '../../base/shutdown-signal.ts'
import { serve } from '../../server/index.ts'
import { sessionTimeoutMs } from '../demo/demo-options.ts'
import { ParentLink } from '../demo/parent-link.ts'
import { applicationId, wordCount, wordCounts } from '../word-count.ts'

export interface DemoInstanceOptions {
  readonly broker: string
  readonly port: number
  readonly stateDir: string
}

const heartbeatIntervalMs = 1000
/** Short, so that `--once` ends soon after the last word is counted. */
const commitIntervalMs = 1000
const rebalanceTimeoutMs = 30_000

/** Runs one instance of word count until it is told to stop. */
export async function runDemoInstance(options: DemoInstanceOptions): Promise<void> {
  const link = ParentLink.open()
  const signal = link?.stop ?? shutdownSignal()
  try {
    await using service = await serve(wordCount(), {
      applicationId,
      brokers: [options.broker],
      stateDir: options.stateDir,
      sessionTimeout: sessionTimeoutMs,
      heartbeatInterval: heartbeatIntervalMs,
      rebalanceTimeout: rebalanceTimeoutMs,
      commitInterval: commitIntervalMs,
      http: { port: options.port },
      expose: { [wordCounts.name]: { operations: ['get', 'range'] } },
      signal,
      // The demo tells the user how its instances are.
      logger: link === undefined ? 'warn' : 'silent',
    })
    if (link === undefined) process.stderr.write(`running on ${service.url}, Ctrl-C stops it\n`)
    link?.ready(Number(new URL(service.url).port))
    await service.closed
  } catch (error) {
    // Told to stop before it was running: that is no failure.
    if (signal.aborted) return
    if (link === undefined) throw error
    link.failure(error)
    process.exitCode = 1
  } finally {
    link?.close()
  }
}

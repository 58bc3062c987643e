import { sleep } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { Random } from '../base/random.ts'
import { Backoff } from '../client/backoff.ts'
import { messageOf } from '../errors.ts'
import { StreamsSession, type StreamsSessionOptions } from './streams-session.ts'

/** So long this goes on trying. */
const patienceMs = 30_000

const retryBackoffMs = 200
const retryBackoffMsMax = 2000

/**
 * Joins the group once more, to have all its members stopped: the coordinator tells each of them in
 * the answer to its next heartbeat, also after this one has left. It does not tell why. Never rejects:
 * who is not reached in time goes on. Java's StreamsRebalanceData#requestShutdown.
 */
export async function requestStreamsStop(
  options: StreamsSessionOptions & { readonly random: Random; readonly log: Log },
): Promise<void> {
  const { clock, random, log } = options
  const session = new StreamsSession(options)
  const backoff = new Backoff({ baseMs: retryBackoffMs, maxMs: retryBackoffMsMax, random })
  const deadline = clock.monotonic() + patienceMs
  try {
    for (;;) {
      const answer = await session.join({ stopAll: true })
      if (answer === undefined || !('refused' in answer)) break
      const waitMs = backoff.next()
      if (clock.monotonic() + waitMs >= deadline) throw answer.error
      await sleep(clock, waitMs)
    }
    await session.leave('leave')
  } catch (error) {
    log.warn('the group could not be stopped', { error: messageOf(error) })
  } finally {
    await session.close()
  }
}

import { settled } from '../../processor/assert-done.ts'
import type { NodeSupplier } from '../../processor/processor.ts'
import type { WindowStore } from '../../store/window-store.ts'
import { droppedNullKeyOrValue } from './dropped-reason.ts'
import type { JoinFunction } from './user-function.ts'

/**
 * Joins a stream with itself out of one store: what comes out, and in which order, is the same as when
 * both sides had a store of their own. Java's KStreamKStreamSelfJoin.
 */
export function kstreamSelfJoin(
  storeName: string,
  windows: { before: number; after: number; grace: number },
  joiner: JoinFunction,
): NodeSupplier {
  const { before, after, grace } = windows
  const retention = before + after + grace
  return (context) => {
    const store = context.store(storeName) as WindowStore<unknown, unknown>
    let streamTime = -1
    return {
      process(key: unknown, value: unknown) {
        if (key === null || key === undefined || value === null || value === undefined) {
          context.dropped(droppedNullKeyOrValue)
          return
        }
        const { timestamp } = context
        if (timestamp > streamTime) streamTime = timestamp
        // First, as in Kafka Streams, which shows when the joiner fails.
        const withItself = settled(joiner(value, value, key), context.node)
        using others = store.fetchRange(
          key,
          Math.max(0, timestamp - before),
          Math.max(0, timestamp + after),
        )
        for (const [time, other] of others) {
          const joined = settled(joiner(value, other, key), context.node)
          context.forwardAt(key, joined, Math.max(timestamp, time))
        }
        // Then as the right side. The record meets itself, unless it is expired: before all later ones.
        let meetsItself = timestamp > streamTime - retention + 1
        using again = store.fetchRange(
          key,
          Math.max(0, timestamp - after),
          Math.max(0, timestamp + before),
        )
        for (const [time, other] of again) {
          if (meetsItself && time > timestamp) {
            meetsItself = false
            context.forward(key, withItself)
          }
          const joined = settled(joiner(other, value, key), context.node)
          context.forwardAt(key, joined, Math.max(timestamp, time))
        }
        if (meetsItself) context.forward(key, withItself)
      },
    }
  }
}

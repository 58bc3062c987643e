import type { NodeSupplier } from '../../processor/processor.ts'
import type { WindowStore } from '../../store/window-store.ts'

/**
 * Keeps the records of one side of a join, each as a window of its own, for the other side to find.
 * They go on first: a stream that is joined with itself does not meet the record that is under way
 * twice. Java's KStreamJoinWindow.
 */
export function kstreamJoinWindow(storeName: string): NodeSupplier {
  return (context) => {
    const store = context.store(storeName) as WindowStore<unknown, unknown>
    return {
      process(key: unknown, value: unknown) {
        context.forward(key, value)
        if (key === null || key === undefined) return
        store.put(key, value ?? undefined, context.timestamp)
      },
    }
  }
}

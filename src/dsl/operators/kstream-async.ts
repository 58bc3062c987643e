import type { AsyncStepOptions } from '../../processor/async-step.ts'
import type { NodeContext, NodeSupplier } from '../../processor/processor.ts'
import type { AsyncFunction, AsyncOptions } from '../async-options.ts'

const concurrencyDefault = 16
const timeoutMsDefault = 30_000

/** Replaces the value by what the mapper's promise gives, in the order of the records. */
export function kstreamMapValuesAsync(mapper: AsyncFunction, options: AsyncOptions): NodeSupplier {
  return asyncNode(mapper, options, (context) => (key, result) => context.forward(key, result))
}

/** Waits for the action's promise; nothing comes after it. */
export function kstreamForEachAsync(action: AsyncFunction, options: AsyncOptions): NodeSupplier {
  return asyncNode(action, options, () => () => undefined)
}

function asyncNode(
  work: AsyncFunction,
  { concurrency = concurrencyDefault, timeout = timeoutMsDefault }: AsyncOptions,
  settled: (context: NodeContext) => AsyncStepOptions['settled'],
): NodeSupplier {
  return (context) => {
    const queue = context.asyncStep({
      concurrency,
      timeoutMs: timeout,
      call: (key, value, signal) => work(value, key, { signal }),
      settled: settled(context),
    })
    return {
      process(key, value) {
        queue.push(key, value)
      },
    }
  }
}

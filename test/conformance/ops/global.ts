import { GlobalKTableImpl, type GlobalTableStoreRef } from '../../../src/dsl/global-ktable-impl.ts'
import type { GlobalKTable } from '../../../src/dsl/global-ktable.ts'
import { storeOf } from '../processor-program.ts'
import { processorOf } from '../processors.ts'
import type { OpCall, OpFamily } from './op.ts'

type GlobalTable = GlobalKTable<unknown, object>

/** What a join of both kinds takes: the joiner sees both keys as one. */
function joinOf(call: OpCall) {
  const [joiner, lookup] = [call.joiner(0), call.with(1)]
  return {
    table: call.input<GlobalTable>(1),
    joiner: (value: unknown, row: unknown, key: unknown, lookupKey: unknown) =>
      joiner(value, row ?? null, [key, lookupKey]),
    options: { ...call.named, lookup: (value: unknown, key: unknown) => lookup(value, key) },
  }
}

/** Tables that every instance holds whole, and joins with them. */
export const globalOps: OpFamily = {
  kinds: [['globalTable', GlobalKTableImpl]],
  ops: {
    'builder.globalTable': (call) => {
      const stored = call.stored() as { store?: GlobalTableStoreRef<unknown, object> }
      return call.builder.globalTable(call.topic, { ...call.named, ...stored })
    },
    'builder.addGlobalStore': (call) => {
      const { processor = '', uses: [spec = {}] = [] } = call.step
      const store = storeOf(spec)
      call.builder.addGlobalStore(store, call.topic, processorOf(processor, [store]), call.named)
    },
    'stream.joinGlobalTable': (call) => {
      const { table, joiner, options } = joinOf(call)
      return call.stream.join(table, joiner, options)
    },
    'stream.leftJoinGlobalTable': (call) => {
      const { table, joiner, options } = joinOf(call)
      return call.stream.leftJoin(table, joiner, options)
    },
  },
}

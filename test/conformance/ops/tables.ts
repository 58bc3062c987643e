import { KTableImpl } from '../../../src/dsl/ktable-impl.ts'
import type { OpFamily } from './op.ts'

/** Tables. */
export const tableOps: OpFamily = {
  kinds: [['table', KTableImpl]],
  ops: {
    'builder.table': (call) => call.builder.table(call.topic, { ...call.named, ...call.stored() }),
    'table.filter': (call) =>
      call.table.filter(call.predicate(), { ...call.named, ...call.stored() }),
    'table.filterNot': (call) =>
      call.table.filterNot(call.predicate(), { ...call.named, ...call.stored() }),
    'table.mapValues': (call) =>
      call.table.mapValues(call.with(), { ...call.named, ...call.stored() }),
    'table.toStream': (call) => call.table.toStream(call.named),
  },
}

import type { KTable } from '../../../src/dsl/ktable.ts'
import type { OpCall, OpFamily } from './op.ts'

type OtherTable = KTable<NonNullable<unknown>, object>

const optionsOf = (call: OpCall): object => ({ ...call.named, ...call.keyAndValue })

/** Joins of streams, with streams and with tables. */
export const joinOps: OpFamily = {
  ops: {
    'stream.joinTable': (call) =>
      call.stream.join(call.input<OtherTable>(1), call.joiner(), optionsOf(call)),
    'stream.leftJoinTable': (call) =>
      call.stream.leftJoin(call.input<OtherTable>(1), call.joiner(), optionsOf(call)),
  },
}

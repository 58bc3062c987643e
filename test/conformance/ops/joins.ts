import type { KTable } from '../../../src/dsl/ktable.ts'
import { joinWindows } from '../../../src/dsl/join-windows.ts'
import type { StreamJoinOptions } from '../../../src/dsl/kstream-kstream-join.ts'
import type { TableJoinOptions } from '../../../src/dsl/kstream-ktable-join.ts'
import { InvalidCase, type Step, type StoreSpec } from '../case.ts'
import { serdeOf } from '../formats.ts'
import type { OpCall, OpFamily, Stream } from './op.ts'

// oxlint-disable-next-line typescript/no-generated-empty-object-type -- never null, else anything
type OtherTable = KTable<NonNullable<unknown>, object>

function tableOptionsOf(call: OpCall): TableJoinOptions<unknown, unknown> {
  const { grace } = call.step
  return { ...call.named, ...call.keyAndValue, ...(grace !== undefined && { grace }) }
}

/** Serdes are always stated, as in Kafka Streams; `string` is the default. */
function streamOptionsOf(call: OpCall): StreamJoinOptions<unknown, unknown, unknown> {
  const { windows, store, key, value, otherValue } = call.step
  if (windows === undefined) throw new InvalidCase('a join of streams needs windows')
  const { name: storeName, persistent, changelog } = storeOf(store)
  return {
    ...call.named,
    windows: joinWindows(windows),
    key: serdeOf(key),
    value: serdeOf(value),
    otherValue: serdeOf(otherValue),
    ...(storeName !== undefined && { storeName }),
    stores: { persistent, changelog },
  }
}

function storeOf(store: Step['store']): Partial<StoreSpec> {
  return typeof store === 'object' ? store : {}
}

/** Joins of streams, with streams and with tables. */
export const joinOps: OpFamily = {
  ops: {
    'stream.joinStream': (call) =>
      call.stream.join(call.input<Stream>(1), call.joiner(), streamOptionsOf(call)),
    'stream.leftJoinStream': (call) =>
      call.stream.leftJoin(call.input<Stream>(1), call.joiner(), streamOptionsOf(call)),
    'stream.outerJoinStream': (call) =>
      call.stream.outerJoin(call.input<Stream>(1), call.joiner(), streamOptionsOf(call)),
    'stream.joinTable': (call) =>
      call.stream.join(call.input<OtherTable>(1), call.joiner(), tableOptionsOf(call)),
    'stream.leftJoinTable': (call) =>
      call.stream.leftJoin(call.input<OtherTable>(1), call.joiner(), tableOptionsOf(call)),
  },
}

import { KGroupedStreamImpl } from '../../../src/dsl/kgrouped-stream-impl.ts'
import type { KGroupedStream } from '../../../src/dsl/kgrouped-stream.ts'
import { KStreamImpl } from '../../../src/dsl/kstream-impl.ts'
import { topicsOf, type OpCall, type OpFamily, type Stream } from './op.ts'

type Grouped = KGroupedStream<unknown, unknown>

const optionsOf = (call: OpCall): object => ({ ...call.named, ...call.keyAndValue })

/** Streams without a join, and what is counted and folded of them without windows. */
export const streamOps: OpFamily = {
  kinds: [
    ['stream', KStreamImpl],
    ['grouped', KGroupedStreamImpl],
  ],
  ops: {
    'builder.stream': (call) => call.builder.stream(topicsOf(call.step), call.named),
    'stream.filter': (call) => call.stream.filter(call.predicate(), optionsOf(call)),
    'stream.filterNot': (call) => call.stream.filterNot(call.predicate(), optionsOf(call)),
    'stream.mapValues': (call) => call.stream.mapValues(call.with(), optionsOf(call)),
    'stream.flatMapValues': (call) => call.stream.flatMapValues(call.list(), optionsOf(call)),
    'stream.selectKey': (call) => call.stream.selectKey(call.with(), optionsOf(call)),
    'stream.map': (call) => {
      const [toKey, toValue] = [call.with(0), call.with(1)]
      return call.stream.map((v, k) => [toKey(v, k), toValue(v, k)] as const, optionsOf(call))
    },
    'stream.flatMap': (call) => {
      const [list, toKey, toValue] = [call.list(0), call.with(1), call.with(2)]
      return call.stream.flatMap(
        (v, k) => list(v, k).map((item) => [toKey(item, k), toValue(item, k)] as const),
        optionsOf(call),
      )
    },
    'stream.peek': (call) => call.stream.peek((v, k) => call.tell(v, k), call.named),
    'stream.forEach': (call) => call.stream.forEach((v, k) => call.tell(v, k), call.named),
    'stream.merge': (call) => call.stream.merge(call.input<Stream>(1), call.named),
    'stream.groupBy': (call) => call.stream.groupBy(call.with(), optionsOf(call)),
    'stream.groupByKey': (call) => call.stream.groupByKey(optionsOf(call)),
    'stream.toTable': (call) => call.stream.toTable({ ...call.named, ...call.stored() }),
    'stream.to': (call) => call.stream.to(call.topic, call.named),

    'grouped.count': (call) =>
      call.input<Grouped>().count({ ...call.named, ...call.stored<number>() }),
    'grouped.reduce': (call) => {
      const reducer = call.fold()
      return call
        .input<Grouped>()
        .reduce((a, v) => reducer(a, v, null) as object | null, { ...call.named, ...call.stored() })
    },
    'grouped.aggregate': (call) => {
      const [initializer, aggregator] = [call.with(0), call.fold(1)]
      const { value } = call.keyAndValue
      return call.input<Grouped>().aggregate<object, object | null>(
        () => initializer(null, null) as object,
        (a, v, k) => aggregator(a, v, k) as object | null,
        { ...call.named, ...call.stored(), ...(value !== undefined && { value }) },
      )
    },
  },
}

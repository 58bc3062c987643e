import { StreamsError } from '../errors.ts'
import { isGlobalTable, joinGlobalTable } from './kstream-global-ktable-join.ts'
import { KStreamImpl } from './kstream-impl.ts'
import { joinStreams, type StreamJoinOptions } from './kstream-kstream-join.ts'
import { joinTable } from './kstream-ktable-join.ts'
import { KTableImpl } from './ktable-impl.ts'
import type { JoinFunction, UserFunction } from './operators/user-function.ts'

/** What a join takes beside the other side and the joiner: depends on what the other side is. */
type JoinOptions = Partial<StreamJoinOptions<unknown, unknown, unknown>> & {
  lookup?: UserFunction<unknown>
}

/** Joins a stream with whatever it is given. */
export function joinWith<K, K2 extends K, R>(
  stream: KStreamImpl<K, unknown>,
  other: unknown,
  join: {
    kind: 'inner' | 'left' | 'outer'
    joiner: JoinFunction
    options: JoinOptions | undefined
  },
): KStreamImpl<K2, R> {
  const { kind, joiner, options } = join
  if (other instanceof KStreamImpl) return new KStreamImpl(joinStreams(stream, other, join))
  if (kind === 'outer') throw invalid('outerJoin needs a stream of the same StreamsBuilder')
  if (other instanceof KTableImpl)
    return new KStreamImpl(joinTable(stream, other, { kind, joiner, options }))
  if (isGlobalTable(other)) {
    // What is missing there is refused.
    const lookup = options?.lookup as UserFunction<unknown>
    return new KStreamImpl(
      joinGlobalTable(stream.state, other, joiner, { ...options, kind, lookup }),
    )
  }
  const operator = kind === 'inner' ? 'join' : 'leftJoin'
  throw invalid(`${operator} needs a stream, a table or a global table of the same StreamsBuilder`)
}

const invalid = (detail: string): StreamsError => new StreamsError('TOPOLOGY_INVALID', { detail })

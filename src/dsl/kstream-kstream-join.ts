import { assertName } from '../base/legal-name.ts'
import { StreamsError } from '../errors.ts'
import type { JoinSide } from '../store/outer-join-store.ts'
import { ProcessorGraphNode } from './graph/processor-graph-node.ts'
import { StreamStreamJoinNode } from './graph/stream-stream-join-node.ts'
import { assertJoinWindows, type JoinWindows } from './join-windows.ts'
import type { KStreamImpl, StreamState } from './kstream-impl.ts'
import { assertFunction, type NameProvider, type Named } from './naming.ts'
import { kstreamJoinWindow } from './operators/kstream-join-window.ts'
import { kstreamKStreamJoin } from './operators/kstream-kstream-join.ts'
import { kstreamSelfJoin } from './operators/kstream-self-join.ts'
import type { JoinFunction } from './operators/user-function.ts'
import { repartitionForJoin } from './repartition-for-join.ts'
import { StreamJoinStores, type JoinStoreOptions } from './stream-join-stores.ts'
import type { SerdeOf } from './topic.ts'

/** How two streams are joined. Java's StreamJoined. */
export interface StreamJoinOptions<K, V, V2> extends Named {
  /** Which records are joined; made by {@link joinWindows}. */
  readonly windows: JoinWindows
  /** Begins the names of the stores and their changelogs. Default: generated names. */
  readonly storeName?: string
  /** Serdes of both streams; default: those that they carry. */
  readonly key?: SerdeOf<K>
  readonly value?: SerdeOf<V>
  readonly otherValue?: SerdeOf<V2>
  readonly stores?: JoinStoreOptions
}

type Kind = 'inner' | 'left' | 'outer'

const outerSides: Readonly<Record<Kind, Readonly<Record<JoinSide, boolean>>>> = {
  inner: { left: false, right: false },
  left: { left: true, right: false },
  outer: { left: true, right: true },
}

/** The stream that a join with another one gives. Java's KStreamImpl#doJoin and KStreamImplJoin. */
export function joinStreams(
  stream: KStreamImpl<unknown, unknown>,
  otherStream: KStreamImpl<unknown, unknown>,
  join: {
    kind: Kind
    joiner: JoinFunction
    options: Partial<StreamJoinOptions<unknown, unknown, unknown>> | undefined
  },
): StreamState {
  const { kind, joiner, options } = join
  const { graph } = stream.state
  const operator = kind === 'inner' ? 'join' : `${kind}Join`
  assertFunction(joiner, `the joiner of ${operator}`)
  if (otherStream.state.graph !== graph) {
    const detail = `${operator} needs a stream of the same StreamsBuilder`
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  const { windows, name, storeName, stores: kept, key, value, otherValue } = options ?? {}
  assertJoinWindows(windows, operator)
  if (name !== undefined) assertName(name, operator)
  if (storeName !== undefined) assertName(storeName, `the stores of ${operator}`)
  const repartitionName = (suffix: string): string | undefined =>
    name === undefined ? undefined : `${name}${suffix}`
  const left = repartitionForJoin(stream, { name: repartitionName('-left'), key, value })
  const right = repartitionForJoin(otherStream, {
    name: repartitionName('-right'),
    key,
    value: otherValue,
  })
  const sources = new Set([...left.state.sources, ...right.state.sources])
  graph.copartition(sources)
  const names = namesOf(graph.names, kind, { name, storeName })
  const keySerde = key ?? left.state.key ?? right.state.key
  const stores = new StreamJoinStores({
    ...kept,
    step: names.merge,
    windows,
    key: keySerde,
    left: value ?? left.state.value,
    right: otherValue ?? right.state.value,
    names: names.stores,
  })
  for (const [side, parent] of [
    ['left', left],
    ['right', right],
  ] as const) {
    const store = names.stores[side]
    const windowed = new ProcessorGraphNode(
      names.windowed[side],
      () => kstreamJoinWindow(store),
      () => stores[side],
    )
    graph.add(windowed, [parent.state.node])
  }
  const node = new StreamStreamJoinNode(names.merge, {
    stores,
    windowed: names.windowed,
    names: names.joins,
    suppliers: kstreamKStreamJoin({
      joiner,
      windows,
      outer: outerSides[kind],
      storeNames: names.stores,
      outerStoreName: names.stores.outer,
    }),
    selfJoin: kstreamSelfJoin(names.stores.left, windows, joiner),
  })
  node.takesNullKeys = kind !== 'inner'
  graph.add(node, [left.state.node, right.state.node])
  return { ...left.state, node, key: keySerde, value: undefined, sources }
}

interface JoinNames {
  readonly windowed: Record<JoinSide, string>
  readonly joins: Record<JoinSide, string>
  readonly merge: string
  readonly stores: Record<JoinSide, string> & { readonly outer: string | undefined }
}

/** All names of a join, in the order in which they take their numbers. */
function namesOf(
  provider: NameProvider,
  kind: Kind,
  given: { name: string | undefined; storeName: string | undefined },
): JoinNames {
  const { name, storeName } = given
  const outer = outerSides[kind]
  const suffixes = {
    left: outer.right ? '-outer-this-join' : '-this-join',
    right: outer.left ? '-outer-other-join' : '-other-join',
  }
  const windowed = {
    left: provider.suffixedStep('KSTREAM-WINDOWED-', '-this-windowed', name),
    right: provider.suffixedStep('KSTREAM-WINDOWED-', '-other-windowed', name),
  }
  const left = outer.right ? 'KSTREAM-OUTERTHIS-' : 'KSTREAM-JOINTHIS-'
  const generated = {
    left: provider.step(left),
    right: provider.step(outer.left ? 'KSTREAM-OUTEROTHER-' : 'KSTREAM-JOINOTHER-'),
  }
  const step = (side: JoinSide): string =>
    name === undefined ? generated[side] : `${name}${suffixes[side]}`
  const store = (side: JoinSide): string =>
    `${storeName === undefined ? generated[side] : `${storeName}${suffixes[side]}`}-store`
  const shared = kind === 'outer' ? '-outer-shared-join' : '-left-shared-join'
  const number = generated.left.slice(left.length)
  const outerStore =
    storeName === undefined ? `KSTREAM-OUTERSHARED-${number}-store` : `${storeName}${shared}-store`
  return {
    windowed,
    joins: { left: step('left'), right: step('right') },
    merge: provider.suffixedStep('KSTREAM-MERGE-', '-merge', name),
    stores: {
      left: store('left'),
      right: store('right'),
      outer: kind === 'inner' ? undefined : outerStore,
    },
  }
}

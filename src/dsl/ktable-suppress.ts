import { assertName } from '../base/legal-name.ts'
import { StreamsError } from '../errors.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type { StoreNode } from '../topology/node.ts'
import { graceOfWindows } from './graph/grace-of-windows.ts'
import { ProcessorGraphNode, type StoreOfStep } from './graph/processor-graph-node.ts'
import type { KTableState } from './ktable-impl.ts'
import { requiredSerde } from './materialized.ts'
import { ktableSuppress, suppressedView } from './operators/ktable-suppress.ts'
import { TableState } from './operators/table-state.ts'
import { assertSuppressed, bufferLimits, type Suppressed } from './suppressed.ts'

const prefix = 'KTABLE-SUPPRESS-'

/** Java's KTableImpl#suppress. */
export function suppressTable(state: KTableState, options: Suppressed): KTableState {
  const { graph, node: parent, table: above } = state
  assertSuppressed(options)
  if (above.isVersioned) {
    const detail = 'a table that is kept in a versioned store cannot be suppressed'
    throw new StreamsError('TOPOLOGY_INVALID', { detail })
  }
  const { until, name: givenName } = options
  // A name that was given takes no number here, as in Java.
  if (givenName !== undefined) assertName(givenName, 'a step (suppress)')
  const name = givenName ?? graph.names.step(prefix)
  const isFinal = until === 'window-closes'
  const waitMs = isFinal ? graceOfWindows(parent) : until.timeLimit
  const storeName = givenName === undefined ? graph.names.store(prefix) : `${givenName}-store`
  const supplier = ktableSuppress({
    storeName,
    from: isFinal ? 'window-end' : 'record',
    waitMs,
    ...bufferLimits(options.buffer),
    dropDeletions: isFinal,
  })
  // What steps below know of a key is the value that its first change replaced.
  above.enableSendingOldValues({ force: true })
  const node = new ProcessorGraphNode(
    name,
    () => supplier,
    () => bufferOf(state, storeName, options),
  )
  graph.add(node, [parent])
  return {
    ...state,
    node,
    sources: new Set([parent.name]),
    table: new TableState({
      above: { tables: [above], view: (rows) => suppressedView(storeName, rows) },
    }),
    queryableStoreName: undefined,
  }
}

function bufferOf(
  { key: keySerde, value: valueSerde, node }: KTableState,
  storeName: string,
  { changelog }: Suppressed,
): StoreOfStep {
  const step = `the buffer ${storeName} below ${node.name}`
  let store: StoreNode | undefined
  return {
    storeNode() {
      if (store !== undefined) return store
      const key = requiredSerde(keySerde, 'key', step)
      const value = requiredSerde(valueSerde, 'value', step)
      const options = { key, value, persistent: false, caching: false, changelog }
      const descriptor = keyValueStore(storeName, options)
      store = Object.freeze({ descriptor, timestamped: false, buffer: 'changes' })
      return store
    },
  }
}

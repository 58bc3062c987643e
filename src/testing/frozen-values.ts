/**
 * A cached store holds values as objects until they are flushed, and gives the same object to whoever
 * asks: code that changes it changes the table, without a put and behind the back of those who were told.
 * The test driver freezes such values, so that this code fails in a test.
 */
import type { Serde } from '../serde/serde.ts'
import type { StoreNode } from '../topology/node.ts'
import type { Topology } from '../topology/topology.ts'

/** The same topology, whose cached stores freeze what they hold: objects and arrays, with all in them. */
export function withFrozenValues(topology: Topology): Topology {
  return {
    ...topology,
    subtopologies: topology.subtopologies.map((subtopology) => ({
      ...subtopology,
      stores: subtopology.stores.map(freezingStore),
    })),
    globalStores: topology.globalStores.map((global) => ({
      ...global,
      store: freezingStore(global.store),
    })),
  }
}

function freezingStore(node: StoreNode): StoreNode {
  const { descriptor, timestamped, buffer } = node
  const isCached = buffer === undefined && (descriptor.caching ?? timestamped)
  if (!isCached || descriptor.kind === 'versioned') return node
  const value = freezingSerde(descriptor.value as Serde<unknown>)
  return { ...node, descriptor: { ...descriptor, value } }
}

/** Each value that is held was read by the serde, or is written by it when the driver commits. */
function freezingSerde(serde: Serde<unknown>): Serde<unknown> {
  const { sizeOf } = serde
  return {
    name: serde.name,
    serialize: (value) => {
      const bytes = serde.serialize(value)
      freeze(value)
      return bytes
    },
    deserialize: (bytes) => {
      const value = serde.deserialize(bytes)
      freeze(value)
      return value
    },
    ...(sizeOf !== undefined && { sizeOf: (value: unknown) => sizeOf(value) }),
  }
}

/** Objects of classes stay as they are: what they hold is their own, and bytes cannot be frozen. */
function freeze(value: unknown): void {
  const open = [value]
  while (open.length > 0) {
    const next = open.pop()
    if (!isPlain(next) || Object.isFrozen(next)) continue
    Object.freeze(next)
    for (const inner of Object.values(next) as unknown[]) {
      if (typeof inner === 'object') open.push(inner)
    }
  }
}

function isPlain(value: unknown): value is object {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null || Array.isArray(value)
}

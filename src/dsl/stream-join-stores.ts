import { windowStoreOf, type StoreOptions } from '../store/descriptor.ts'
import { outerJoinStore } from '../store/outer-join-store.ts'
import type { StoreNode } from '../topology/node.ts'
import type { StoreOfStep } from './graph/processor-graph-node.ts'
import type { JoinWindows } from './join-windows.ts'
import { requiredSerde } from './materialized.ts'
import type { AnySerde } from './topic.ts'

/** How a join of two streams keeps them. */
export interface JoinStoreOptions {
  /** Keep them in files below `stateDir` (default), or only in memory. */
  readonly persistent?: boolean
  /** Write them to changelog topics (default). An object: with these topic configs. */
  readonly changelog?: StoreOptions['changelog']
}

export interface StreamJoinStoresOptions extends JoinStoreOptions {
  /** The operator, for messages. */
  readonly step: string
  readonly windows: JoinWindows
  readonly key: AnySerde | undefined
  readonly left: AnySerde | undefined
  readonly right: AnySerde | undefined
  readonly names: {
    readonly left: string
    readonly right: string
    /** Of what is held back; undefined: nothing is. */
    readonly outer: string | undefined
  }
}

/**
 * The stores of one join of two streams: one for each, and one for what is held back. Java's
 * StreamJoinedStoreFactory and OuterStreamJoinStoreFactory.
 */
export class StreamJoinStores {
  readonly left: StoreOfStep
  readonly right: StoreOfStep
  readonly outer: StoreOfStep | undefined
  readonly #options: StreamJoinStoresOptions

  constructor(options: StreamJoinStoresOptions) {
    const { names } = options
    this.#options = options
    this.left = once(() => this.#windowed(names.left, 'left'))
    this.right = once(() => this.#windowed(names.right, 'right'))
    const { outer } = names
    this.outer = outer === undefined ? undefined : once(() => this.#heldBack(outer))
  }

  #windowed(name: string, side: 'left' | 'right'): StoreNode {
    const { windows, persistent, changelog } = this.#options
    const windowSize = windows.before + windows.after
    const descriptor = windowStoreOf(name, {
      key: this.#serde('key'),
      value: this.#serde(side),
      windowSize,
      retention: windowSize + windows.grace,
      retainDuplicates: true,
      persistent,
      // Compaction would keep the last of equal keys alone, as if there were no others.
      changelog:
        changelog === false ? false : { ...configsOf(changelog), 'cleanup.policy': 'delete' },
    })
    return Object.freeze({ descriptor, timestamped: false, logsHeaders: true })
  }

  #heldBack(name: string): StoreNode {
    const { persistent, changelog } = this.#options
    const key = this.#serde('key')
    const [left, right] = [this.#serde('left'), this.#serde('right')]
    const descriptor = outerJoinStore(name, { key, left, right, persistent, changelog })
    return Object.freeze({ descriptor, timestamped: false })
  }

  #serde(part: 'key' | 'left' | 'right'): AnySerde {
    const kind = part === 'key' ? 'key' : 'value'
    const which = { key: 'keys', left: 'values of the stream', right: 'values of the other stream' }
    return requiredSerde(this.#options[part], kind, `the ${which[part]} of ${this.#options.step}`)
  }
}

function configsOf(changelog: StoreOptions['changelog']): { readonly [config: string]: string } {
  return typeof changelog === 'object' ? changelog : {}
}

function once(make: () => StoreNode): StoreOfStep {
  let made: StoreNode | undefined
  return {
    storeNode() {
      made ??= make()
      return made
    },
  }
}

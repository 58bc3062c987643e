import { StreamsError } from '../errors.ts'

/**
 * Where an instance stands in its life. Java's KafkaStreams.State, with its transitions:
 *
 *     created → rebalancing ⇄ running → pending-shutdown → not-running
 *                     └─────────┴─────→ pending-error → error
 */
export type StreamsState =
  | 'created'
  | 'rebalancing'
  | 'running'
  | 'pending-shutdown'
  | 'not-running'
  | 'pending-error'
  | 'error'

/** `ignored`: asked for by something that has not heard yet how far things are; nothing happens. */
type Transition = 'allowed' | 'ignored' | 'illegal'

const transitions: Readonly<Record<StreamsState, Readonly<Record<StreamsState, Transition>>>> = {
  created: {
    created: 'illegal',
    rebalancing: 'allowed',
    running: 'illegal',
    'pending-shutdown': 'allowed',
    'not-running': 'illegal',
    'pending-error': 'illegal',
    error: 'illegal',
  },
  rebalancing: {
    created: 'illegal',
    rebalancing: 'ignored',
    running: 'allowed',
    'pending-shutdown': 'allowed',
    'not-running': 'illegal',
    'pending-error': 'allowed',
    error: 'illegal',
  },
  running: {
    created: 'illegal',
    rebalancing: 'allowed',
    running: 'ignored',
    'pending-shutdown': 'allowed',
    'not-running': 'illegal',
    'pending-error': 'allowed',
    error: 'illegal',
  },
  'pending-shutdown': {
    created: 'ignored',
    rebalancing: 'ignored',
    running: 'ignored',
    'pending-shutdown': 'ignored',
    'not-running': 'allowed',
    'pending-error': 'ignored',
    error: 'ignored',
  },
  'not-running': {
    created: 'illegal',
    rebalancing: 'illegal',
    running: 'illegal',
    'pending-shutdown': 'ignored',
    'not-running': 'ignored',
    'pending-error': 'illegal',
    error: 'illegal',
  },
  'pending-error': {
    created: 'ignored',
    rebalancing: 'ignored',
    running: 'ignored',
    'pending-shutdown': 'ignored',
    'not-running': 'ignored',
    'pending-error': 'ignored',
    error: 'allowed',
  },
  error: {
    created: 'illegal',
    rebalancing: 'illegal',
    running: 'illegal',
    'pending-shutdown': 'ignored',
    'not-running': 'illegal',
    'pending-error': 'ignored',
    error: 'ignored',
  },
}

/**
 * True when the state changes; false when the wish is ignored. An illegal one throws
 * `STREAMS_STATE_INVALID` with both names.
 */
export function canTransition(from: StreamsState, to: StreamsState): boolean {
  const transition = transitions[from][to]
  if (transition === 'illegal')
    throw new StreamsError('STREAMS_STATE_INVALID', {
      operation: `the change to ${to}`,
      state: from,
    })
  return transition === 'allowed'
}

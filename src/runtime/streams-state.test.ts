import { expect, test } from 'vitest'
import { canTransition, type StreamsState } from './streams-state.ts'

const states: StreamsState[] = [
  'created',
  'rebalancing',
  'running',
  'pending-shutdown',
  'not-running',
  'pending-error',
  'error',
]

function outcome(from: StreamsState, to: StreamsState): string {
  try {
    return canTransition(from, to) ? 'yes' : 'no'
  } catch {
    return '!'
  }
}

test("the transitions are Java's", () => {
  // KafkaStreams.State of Kafka Streams 4.4: yes allowed, no refused in silence, ! refused with an error.
  const table = states.map((from) => states.map((to) => outcome(from, to)).join(' '))
  expect(table).toEqual([
    '! yes ! yes ! ! !',
    '! no yes yes ! yes !',
    '! yes no yes ! yes !',
    'no no no no yes no no',
    '! ! ! no no ! !',
    'no no no no no no yes',
    '! ! ! no ! no no',
  ])
})

test('an illegal transition names both states', () => {
  expect(() => canTransition('created', 'running')).toThrow(
    'Streams is created: the change to running is not possible.',
  )
})

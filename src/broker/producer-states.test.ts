import { describe, expect, test } from 'vitest'
import { ProducerStates, type ProducedBatch } from './producer-states.ts'

interface Written {
  sequence: number
  count?: number
  offset?: number
  epoch?: number
  id?: number
}

const batch = ({
  sequence,
  count = 1,
  offset = sequence,
  epoch = 0,
  id = 7,
}: Written): ProducedBatch => ({
  producerId: id,
  producerEpoch: epoch,
  baseSequence: sequence,
  recordCount: count,
  baseOffset: offset,
  lastOffset: offset + count - 1,
  maxTimestamp: 1_000,
  logAppendTimeMs: -1,
})

function statesAfter(...batches: Written[]): ProducerStates {
  const states = new ProducerStates()
  for (const one of batches) states.add(batch(one))
  return states
}

/** In short: append, the offset of the twin, or the error. */
function verdict(states: ProducerStates, written: Written): string | number {
  const found = states.check(batch(written))
  if (found.kind === 'duplicate') return found.of.baseOffset
  return found.kind === 'refused' ? found.error : 'append'
}

describe('ProducerStates', () => {
  test('a producer that is not known may start at any sequence', () => {
    expect(verdict(new ProducerStates(), { sequence: 42 })).toBe('append')
  })

  test('the batch after the last one is appended, one after a gap is out of order', () => {
    const states = statesAfter({ sequence: 0, count: 3 })
    expect(verdict(states, { sequence: 3 })).toBe('append')
    expect(verdict(states, { sequence: 4 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
  })

  test('a repeated batch is told the offset of the first', () => {
    const states = statesAfter({ sequence: 0, count: 3, offset: 100 }, { sequence: 3, offset: 200 })
    expect(verdict(states, { sequence: 0, count: 3 })).toBe(100)
    expect(verdict(states, { sequence: 3 })).toBe(200)
  })

  test('a batch that begins like a known one but ends elsewhere is out of order', () => {
    const states = statesAfter({ sequence: 0, count: 3 })
    expect(verdict(states, { sequence: 0, count: 2 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
  })

  test('the last five batches are remembered, an older one is out of order', () => {
    const states = statesAfter(...[0, 1, 2, 3, 4, 5].map((sequence) => ({ sequence })))
    expect(verdict(states, { sequence: 1 })).toBe(1)
    expect(verdict(states, { sequence: 0 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
  })

  test('an older epoch is refused, a newer one must start at sequence 0', () => {
    const states = statesAfter({ sequence: 0, epoch: 2 })
    expect(verdict(states, { sequence: 1, epoch: 1 })).toBe('INVALID_PRODUCER_EPOCH')
    expect(verdict(states, { sequence: 1, epoch: 3 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(verdict(states, { sequence: 0, epoch: 3 })).toBe('append')
  })

  test('sequences go on at 0 after the largest int32, within a batch and between batches', () => {
    const states = statesAfter({ sequence: 2_147_483_646, count: 2, offset: 0 })
    expect(verdict(states, { sequence: 0 })).toBe('append')
    states.add(batch({ sequence: 0, offset: 2 }))
    const wrapped = statesAfter({ sequence: 2_147_483_646, count: 4, offset: 0 })
    expect(verdict(wrapped, { sequence: 2 })).toBe('append')
  })

  test('a batch from which compaction took records still spans its sequences', () => {
    const states = new ProducerStates()
    states.add({ ...batch({ sequence: 0, count: 10 }), recordCount: 1 })
    expect(verdict(states, { sequence: 10 })).toBe('append')
    expect(verdict(states, { sequence: 0, count: 10 })).toBe(0)
  })

  test('producers do not know of each other', () => {
    const states = statesAfter({ sequence: 0, id: 1 }, { sequence: 0, id: 2 })
    expect(verdict(states, { sequence: 1, id: 1 })).toBe('append')
    expect(states.isNewestBatch(1, 0)).toBe(true)
    expect(states.isNewestBatch(1, 5)).toBe(false)
  })

  test('beyond ten thousand, the producer that was silent for longest is forgotten', () => {
    const states = new ProducerStates()
    for (let id = 0; id < 10_000; id++) states.add(batch({ sequence: 0, id }))
    states.add(batch({ sequence: 1, id: 0 }))
    states.add(batch({ sequence: 0, id: 10_000 }))
    expect(states.size).toBe(10_000)
    expect(verdict(states, { sequence: 9, id: 1 })).toBe('append')
    expect(verdict(states, { sequence: 9, id: 0 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
  })

  test('a marker of the same epoch changes no sequence; one of a newer epoch begins at 0', () => {
    const states = statesAfter({ sequence: 0, count: 3 })
    const marker = { producerId: 7, coordinatorEpoch: 4, offset: 3, timestamp: 2_000 }
    states.addMarker({ ...marker, producerEpoch: 0 })
    expect(verdict(states, { sequence: 0, count: 3 })).toBe(0)
    expect(verdict(states, { sequence: 3 })).toBe('append')
    states.addMarker({ ...marker, producerEpoch: 1 })
    expect(verdict(states, { sequence: 3 })).toBe('INVALID_PRODUCER_EPOCH')
    expect(verdict(states, { sequence: 3, epoch: 1 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(verdict(states, { sequence: 0, epoch: 1 })).toBe('append')
    expect(states.summaries()).toEqual([
      {
        producerId: 7,
        producerEpoch: 1,
        lastSequence: -1,
        lastTimestamp: 2_000,
        coordinatorEpoch: 4,
      },
    ])
    expect([states.isNewestBatch(7, 3), states.isNewestBatch(7, 2)]).toEqual([true, false])
  })

  test('a producer that is known from a marker only begins at 0', () => {
    const states = new ProducerStates()
    states.addMarker({
      producerId: 7,
      producerEpoch: 2,
      coordinatorEpoch: 0,
      offset: 0,
      timestamp: 0,
    })
    expect(verdict(states, { sequence: 1, epoch: 2 })).toBe('OUT_OF_ORDER_SEQUENCE_NUMBER')
    expect(verdict(states, { sequence: 0, epoch: 2 })).toBe('append')
  })
})

import { describe, expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import { noHeaders, type RecordContext } from '../store/state-store.ts'
import { AsyncStep } from './async-step.ts'

/** A step whose calls end when the test says so. */
function stepOf(options: { concurrency: number; timeoutMs?: number }) {
  const clock = new ManualClock()
  const record: RecordContext = {
    timestamp: 0,
    offset: 0,
    topic: 'in',
    partition: 0,
    headers: noHeaders,
  }
  const begun: string[] = []
  const forwarded: string[] = []
  const aborted: string[] = []
  const calls = new Map<string, { resolve: (result: string) => void; reject: (e: Error) => void }>()
  let wakes = 0
  const step = new AsyncStep(
    {
      concurrency: options.concurrency,
      timeoutMs: options.timeoutMs ?? 1000,
      call: (key, _value, signal) => {
        begun.push(String(key))
        signal.addEventListener('abort', () =>
          aborted.push(`${String(key)}: ${(signal.reason as Error).message}`),
        )
        return new Promise((resolve, reject) => calls.set(String(key), { resolve, reject }))
      },
      settled: (key, result) => forwarded.push(`${String(key)}=${String(result)}@${record.offset}`),
    },
    {
      clock,
      record,
      wake: () => {
        wakes += 1
      },
      run: (work) => work(),
    },
  )
  return {
    step,
    clock,
    begun,
    forwarded,
    aborted,
    push: (key: string, offset: number) => {
      record.offset = offset
      step.push(key, 'v')
    },
    end: async (key: string) => {
      calls.get(key)?.resolve(`done ${key}`)
      await clock.settle()
    },
    fail: async (key: string) => {
      calls.get(key)?.reject(new Error(`no ${key}`))
      await clock.settle()
    },
    wakes: () => wakes,
  }
}

describe('an asynchronous step', () => {
  test('takes so many calls of one record and no more; of others, and of none, any number', () => {
    const { step, push } = stepOf({ concurrency: 1 })
    for (let call = 0; call < 100_000; call += 1) push('a', 7)
    expect(() => push('a', 7)).toThrow('one record brings more than 100000 calls')
    push('b', 8)
    for (let call = 0; call < 100_001; call += 1) push('punctuation', -1)
    expect(step.isFull).toBe(true)
  })

  test('hands results on in the order of the records, with their record contexts', async () => {
    const { step, push, end, forwarded, wakes } = stepOf({ concurrency: 3 })
    push('a', 7)
    push('b', 8)
    await end('b')
    expect(step.settle()).toBe(0)
    expect(wakes()).toBe(0)
    await end('a')
    expect(wakes()).toBe(1)
    expect(forwarded).toEqual([])
    expect(step.settle()).toBe(2)
    expect(forwarded).toEqual(['a=done a@7', 'b=done b@8'])
    expect(step.isEmpty).toBe(true)
  })

  test('runs no more calls than it may, and begins the next when one ends', async () => {
    const { step, push, end, begun } = stepOf({ concurrency: 2 })
    for (const [offset, key] of ['a', 'b', 'c', 'd'].entries()) push(key, offset)
    expect(begun).toEqual(['a', 'b'])
    expect(step.isFull).toBe(true)
    await end('b')
    expect(begun).toEqual(['a', 'b', 'c'])
    await end('a')
    expect(begun).toEqual(['a', 'b', 'c', 'd'])
    step.settle()
    await end('c')
    await end('d')
    step.settle()
    expect(step.isEmpty).toBe(true)
  })

  test('a failure comes with its turn, and those behind it stay', async () => {
    const { step, push, end, fail, forwarded } = stepOf({ concurrency: 3 })
    push('a', 0)
    push('b', 1)
    push('c', 2)
    await fail('b')
    await end('c')
    await end('a')
    expect(() => step.settle()).toThrow('no b')
    expect(forwarded).toEqual(['a=done a@0'])
    expect(step.settle()).toBe(1)
  })

  test('a call that throws at once fails in the same way', async () => {
    const clock = new ManualClock()
    const record = { timestamp: 0, offset: 0, topic: '', partition: 0, headers: noHeaders }
    const step = new AsyncStep(
      {
        concurrency: 1,
        timeoutMs: 10,
        call: () => {
          throw new Error('at once')
        },
        settled: () => undefined,
      },
      { clock, record, wake: () => undefined, run: (work) => work() },
    )
    step.push('a', 1)
    expect(() => step.settle()).toThrow('at once')
    expect(clock.timerCount).toBe(0)
  })

  test('a call that takes too long fails, is told so, and its result counts no more', async () => {
    const { step, clock, push, end, forwarded, aborted } = stepOf({
      concurrency: 1,
      timeoutMs: 50,
    })
    push('a', 0)
    push('b', 1)
    clock.advance(50)
    expect(aborted).toEqual(['a: it has not answered within 50 ms'])
    await end('a')
    await end('b')
    expect(() => step.settle()).toThrow('it has not answered within 50 ms')
    expect(step.settle()).toBe(1)
    expect(forwarded).toEqual(['b=done b@1'])
  })

  test('when the task is given up, calls are told, and no timer and no result is left', async () => {
    const { step, clock, push, end, aborted, wakes } = stepOf({ concurrency: 2 })
    push('a', 0)
    push('b', 1)
    push('c', 2)
    step.abort(new Error('given up'))
    expect(aborted).toEqual(['a: given up', 'b: given up'])
    await end('a')
    expect(step.isEmpty).toBe(true)
    expect(step.settle()).toBe(0)
    expect(wakes()).toBe(0)
    push('late', 3)
    expect(step.isEmpty).toBe(true)
    expect(clock.timerCount).toBe(0)
  })
})

import { expect, test } from 'vitest'
import { ManualClock } from '../base/manual-clock.ts'
import { StreamsError, type ErrorCode } from '../errors.ts'
import type { GetAnswer, GetRequest, QueryExecutor } from '../query/request.ts'
import { WaitingExecutor } from './waiting-executor.ts'

const request: GetRequest = { kind: 'get', store: 'counts', keyBytes: Buffer.from('a') }

const answer: GetAnswer = {
  kind: 'get',
  found: undefined,
  meta: { store: 'counts', servedBy: 'here', role: 'active', lag: 0, position: {}, partial: false },
}

/** Fails with these codes, one after the other, then answers; counts how often it was asked. */
function failing(...codes: readonly ErrorCode[]): QueryExecutor & { asked: number } {
  const unused = (): Promise<never> => Promise.reject(new Error('only gets are asked here'))
  return {
    asked: 0,
    get() {
      const code = codes[this.asked]
      this.asked += 1
      return code === undefined ? Promise.resolve(answer) : Promise.reject(new StreamsError(code))
    },
    page: unused,
    count: unused,
  }
}

test('a question is asked again while its owner is on the way', async () => {
  const clock = new ManualClock()
  const inner = failing('STREAMS_REBALANCING', 'OWNER_UNKNOWN', 'STORE_NOT_AVAILABLE')
  const asked = new WaitingExecutor(inner, clock).get(request)
  await clock.run(150)
  expect(await asked).toBe(answer)
  expect(inner.asked).toBe(4)
})

test('after its timeout a question ends with the last error', async () => {
  const clock = new ManualClock()
  const inner = failing(...Array.from<ErrorCode>({ length: 10 }).fill('OWNER_UNKNOWN'))
  const asked = new WaitingExecutor(inner, clock).get({ ...request, timeoutMs: 100 })
  const [failure] = await Promise.allSettled([asked, clock.run(100)])
  expect(failure).toMatchObject({ status: 'rejected', reason: { code: 'OWNER_UNKNOWN' } })
  expect(inner.asked).toBe(3)
})

test('what will not get better by waiting is told at once', async () => {
  const inner = failing('STORE_UNKNOWN')
  const asked = new WaitingExecutor(inner, new ManualClock()).get(request)
  await expect(asked).rejects.toMatchObject({ code: 'STORE_UNKNOWN' })
  expect(inner.asked).toBe(1)
})

/** `npx tsx --test examples/scored-payments.test.ts` */
import { deepStrictEqual, rejects } from 'node:assert/strict'
import { test } from 'node:test'
import { TopologyTestDriver } from 'millpond/testing'
import { payments, scored, scoredPayments } from './scored-payments.ts'

await test('results come in the order of the payments, whoever is answered first', async () => {
  const waiting: (() => void)[] = []
  const topology = scoredPayments(async ({ cents }) => {
    await new Promise<void>((resolve) => waiting.push(resolve))
    return cents / 1_000
  })
  using driver = new TopologyTestDriver(topology)
  driver.input(payments).pipeKeyValues([
    ['ann', { cents: 10 }],
    ['bob', { cents: 900 }],
  ])
  deepStrictEqual(waiting.length, 2)
  for (const answer of waiting.reverse()) answer()
  await driver.settled()

  deepStrictEqual(driver.output(scored).readKeyValues(), [
    ['ann', { cents: 10, risk: 0.01 }],
    ['bob', { cents: 900, risk: 0.9 }],
  ])
})

await test('a call that fails is an error of its step', async () => {
  using driver = new TopologyTestDriver(
    scoredPayments(() => Promise.reject(new Error('no answer'))),
  )
  driver.input(payments).pipe({ key: 'ann', value: { cents: 10 } })

  await rejects(() => driver.settled(), { code: 'PROCESSING_FAILED' })
})

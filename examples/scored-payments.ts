/**
 * Asks a service how risky each payment is: many calls at the same time, results in order. The service
 * is a parameter, so that a test can stand in for it.
 */
import { StreamsBuilder, seconds, serdes, topic, type Topology } from 'millpond'

export interface Payment {
  readonly cents: number
}
export interface ScoredPayment extends Payment {
  /** From 0 to 1. */
  readonly risk: number
}

export type RiskService = (payment: Payment, signal: AbortSignal) => Promise<number>

export const payments = topic('payments', { key: serdes.string, value: serdes.json<Payment>() })
export const scored = topic('scored-payments', {
  key: serdes.string,
  value: serdes.json<ScoredPayment>(),
})

/** Asks over HTTP. */
export const httpRisk: RiskService = async ({ cents }, signal) => {
  const response = await fetch(`http://localhost:8080/risk?cents=${cents}`, { signal })
  if (!response.ok) throw new Error(`the risk service answered ${response.status}`)
  return Number(await response.text())
}

export function scoredPayments(riskOf: RiskService = httpRisk): Topology {
  const builder = new StreamsBuilder()
  builder
    .stream(payments)
    .mapValuesAsync(
      async (payment, _key, { signal }) => ({ ...payment, risk: await riskOf(payment, signal) }),
      { name: 'ask-for-risk', concurrency: 32, timeout: seconds(5) },
    )
    .to(scored)
  return builder.build()
}

import type { NameProvider } from '../naming.ts'

const registration = 'KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-'
const processor = 'KTABLE-FK-JOIN-SUBSCRIPTION-PROCESSOR-'

/** The names of a foreign-key join: each takes its number, in this order. */
export interface ForeignKeyJoinNames {
  readonly subscriptionTopic: string
  readonly send: string
  readonly subscriptionSink: string
  readonly subscriptionSource: string
  readonly store: string
  readonly receive: string
  readonly join: string
  readonly foreignTableJoin: string
  readonly responseTopic: string
  readonly responseSink: string
  readonly responseSource: string
  readonly responseJoin: string
  readonly result: string
}

/** As Kafka Streams names them; `name` is the user's. */
export function foreignKeyJoinNames(
  names: NameProvider,
  name: string | undefined,
): ForeignKeyJoinNames {
  const of = (prefix: string, suffix: string): string => names.suffixedStep(prefix, suffix, name)
  return {
    subscriptionTopic: `${of(registration, '-subscription-registration')}-topic`,
    send: of(registration, '-subscription-registration-processor'),
    subscriptionSink: of('KTABLE-SINK-', '-subscription-registration-sink'),
    subscriptionSource: of('KTABLE-SOURCE-', '-subscription-registration-source'),
    store: of('KTABLE-FK-JOIN-SUBSCRIPTION-STATE-STORE-', '-subscription-store'),
    receive: of(processor, '-subscription-receive'),
    join: of(processor, '-subscription-join-foreign'),
    foreignTableJoin: of(processor, '-foreign-join-subscription'),
    responseTopic: `${of('KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-', '-subscription-response')}-topic`,
    responseSink: of('KTABLE-SINK-', '-subscription-response-sink'),
    responseSource: of('KTABLE-SOURCE-', '-subscription-response-source'),
    responseJoin: of(
      'KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-RESOLVER-PROCESSOR-',
      '-subscription-response-resolver',
    ),
    result: of('KTABLE-FK-JOIN-OUTPUT-', '-result'),
  }
}

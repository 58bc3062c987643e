import { KafkaClient } from '../client/kafka-client.ts'
import type { Ports, ResolvedConfig } from '../config.ts'

/** The client of an instance, which all its workers share. */
export function openInstanceClient(
  config: ResolvedConfig,
  ports: Ports,
  processId: string,
): KafkaClient {
  const { applicationId, brokers, clientId, security, metadataMaxAge, log } = config
  const { clock, random, transport } = ports
  return new KafkaClient({
    brokers,
    clock,
    random,
    transport,
    log,
    clientId: clientId ?? `${applicationId}-${processId}`,
    security,
    metadataMaxAgeMs: metadataMaxAge,
  })
}

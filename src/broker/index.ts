import type { BrokerOptions } from './broker-options.ts'
import { Broker } from './broker.ts'

export type { TlsMaterial, TlsServerOptions } from '../base/tls.ts'
export type { BrokerOptions } from './broker-options.ts'
export { Broker } from './broker.ts'
export type { BrokerSaslOptions } from './client-session.ts'
export type { BrokerSaslMechanism } from './sasl-server.ts'

/**
 * Starts a Kafka broker in this process, for development and tests: one node that speaks the real
 * protocol, in memory or with a data directory. Millpond, kcat, librdkafka, kafkajs and the Java
 * clients work against it. For production use Apache Kafka.
 *
 * It costs a few milliseconds and a megabyte or two, and listens on 127.0.0.1 unless told
 * otherwise.
 *
 * @example
 * import { startBroker } from 'millpond/broker'
 *
 * await using broker = await startBroker({ dataDir: './data' })
 * console.log(broker.address) // 127.0.0.1:49731
 *
 * @throws StreamsError `ADDRESS_IN_USE`, `STATE_DIRECTORY_LOCKED`, `STATE_DIRECTORY_FAILED`,
 *   `DISK_FAILED`, `CONFIG_INVALID`
 */
export async function startBroker(options: BrokerOptions = {}): Promise<Broker> {
  const broker = new Broker(options)
  await broker.start()
  return broker
}

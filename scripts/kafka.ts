/** `npm run kafka -- [--version V] [--brokers 1|3] [--port P]`: a real Kafka until Ctrl-C. */
import { parseArgs } from 'node:util'
import { KafkaCluster, kafkaUnavailable } from '../test/peers/kafka-cluster.ts'

async function main(): Promise<number> {
  const missing = kafkaUnavailable()
  if (missing !== undefined) {
    console.error(missing)
    return 2
  }
  const { values } = parseArgs({
    options: {
      version: { type: 'string', default: '4.4.0' },
      brokers: { type: 'string', default: '1' },
      port: { type: 'string', default: '9092' },
    },
  })
  const brokers = Number(values.brokers)
  const port = Number(values.port)
  if ((brokers !== 1 && brokers !== 3) || !Number.isInteger(port) || port < 1 || port > 65_533) {
    console.error('Usage: npm run kafka -- [--version 4.4.0] [--brokers 1|3] [--port 9092]')
    return 2
  }
  const stopped = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => resolve())
  })
  console.log(`Kafka ${values.version}: starting ${brokers} broker(s) …`)
  await using cluster = await KafkaCluster.start({ version: values.version, brokers, port })
  console.log(
    `Kafka ${cluster.version} answers at ${cluster.bootstrap.join(',')} (Ctrl-C stops it)`,
  )
  await stopped
  return 0
}

main().then(
  (code) => {
    process.exitCode = code
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  },
)

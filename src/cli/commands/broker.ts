import { silentLog } from '../../base/log.ts'
import { shutdownSignal } from '../../base/shutdown-signal.ts'
import { systemDisk } from '../../base/disk.ts'
import { startBroker } from '../../broker/index.ts'
import { Admin } from '../../client/admin.ts'
import type { ClientSecurity } from '../../client/client-security.ts'
import { KafkaClient } from '../../client/kafka-client.ts'
import { systemPorts } from '../../config.ts'
import { brokerSecurity, ownSecurity, type BrokerSecurityOptions } from '../broker-security.ts'
import { ParentLink, failureLine } from '../demo/parent-link.ts'
import { watchedDisk } from '../demo/watched-disk.ts'
import type { TopicOption } from '../topic-option.ts'

export interface BrokerCommandOptions extends BrokerSecurityOptions {
  readonly host: string
  readonly port: number
  readonly dataDir?: string
  /** Topics that are to be there before anybody hears of the broker. */
  readonly topics: readonly TopicOption[]
}

/** Milliseconds that the broker outlives a demo that is gone: its instances commit, and leave. */
const orphanDelayMs = 3000

/** Runs the dev broker until it is told to stop. */
export async function runBroker(options: BrokerCommandOptions): Promise<void> {
  const { host, port, dataDir } = options
  const link = ParentLink.open()
  const told = new Set<string>()
  const onDiskFailure = (error: unknown): void => {
    const line = failureLine(error)
    if (told.has(line)) return
    told.add(line)
    if (link === undefined) process.stderr.write(`millpond: ${line}\n`)
    else link.failure(error)
  }
  const signal = link?.stop ?? shutdownSignal()
  try {
    const security = brokerSecurity(options)
    await using broker = await startBroker({
      host,
      port,
      dataDir,
      ...security,
      ...(dataDir === undefined ? {} : { disk: watchedDisk(systemDisk, onDiskFailure) }),
      // Of the demo's broker its last words are told: they are not to be about some connection.
      logger: link === undefined ? 'warn' : 'silent',
    })
    await createTopics(broker.address, options.topics, ownSecurity(security))
    const place = dataDir === undefined ? 'in memory' : `data in ${dataDir}`
    process.stdout.write(`Kafka for development on ${broker.address}, ${place}. Ctrl-C stops it.\n`)
    link?.ready(broker.port)
    await aborted(signal)
    if (link?.isOrphan === true) await new Promise((resolve) => setTimeout(resolve, orphanDelayMs))
  } catch (error) {
    if (link === undefined) throw error
    link.failure(error)
    process.exitCode = 1
  } finally {
    link?.close()
  }
}

/** Resolves when the signal aborts. */
function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

async function createTopics(
  address: string,
  topics: readonly TopicOption[],
  security: ClientSecurity,
): Promise<void> {
  if (topics.length === 0) return
  await using client = new KafkaClient({
    brokers: [address],
    log: silentLog,
    security,
    ...systemPorts,
  })
  const outcomes = await new Admin(client).createTopics(topics)
  const names = topics.map(({ topic }) => topic)
  const metadata = await client.topicMetadata(names)
  for (const { topic, partitions } of topics) {
    const actual = metadata.get(topic)?.partitions.length
    if (outcomes.get(topic) === 'created' || actual === partitions) continue
    const line = `The topic ${topic} is there already, with ${actual ?? 'unknown'} partitions: it is left as it is.`
    process.stderr.write(`${line}\n`)
  }
}

import { silentLog } from '../../src/base/log.ts'
import { ManualClock } from '../../src/base/manual-clock.ts'
import { MemoryTransport } from '../../src/base/memory-transport.ts'
import { seededRandom } from '../../src/base/random.ts'
import { KafkaClient, type KafkaClientOptions } from '../../src/client/kafka-client.ts'
import { errorCode } from '../../src/protocol/error-codes.ts'
import { findCoordinator } from '../../src/protocol/messages/10-find-coordinator.ts'
import { initProducerId } from '../../src/protocol/messages/22-init-producer-id.ts'
import { metadata } from '../../src/protocol/messages/3-metadata.ts'
import { ScriptedBroker, type ScriptedBrokerOptions } from './scripted-broker.ts'

/** Who leads a partition, for the answers to Metadata. */
export interface ScriptedLeader {
  /** Node id, -1 for none. */
  node: number
  epoch: number
}

/**
 * Some scripted brokers that agree on who leads what and who coordinates: node 1 is at `kafka-1:9092`
 * and so on. A test changes `leaders` and `coordinator`, and says what the brokers answer to the rest.
 */
export class ScriptedCluster {
  readonly clock: ManualClock
  readonly network: MemoryTransport
  readonly brokers: readonly ScriptedBroker[]
  /** By topic, indexed by partition. */
  readonly leaders: Map<string, ScriptedLeader[]>
  /** Node id of the coordinator of all groups; -1: there is none. */
  coordinator = 1
  /** Answers to Metadata so far, by all brokers. */
  metadataCount = 0

  private constructor(
    network: MemoryTransport,
    brokers: readonly ScriptedBroker[],
    leaders: Map<string, ScriptedLeader[]>,
    clock: ManualClock,
  ) {
    this.network = network
    this.brokers = brokers
    this.leaders = leaders
    this.clock = clock
    for (const broker of brokers) this.#script(broker)
  }

  /** Starts brokers; partitions of the topics are led by them in turn, in epoch 0. */
  static async start(
    options: {
      nodes?: number
      topics?: Readonly<Record<string, number>>
      versions?: NonNullable<ScriptedBrokerOptions['versions']>
    } = {},
  ): Promise<ScriptedCluster> {
    const { nodes = 1, topics = {}, versions = [] } = options
    const clock = new ManualClock(1_700_000_000_000)
    const network = new MemoryTransport({ clock })
    const brokers: ScriptedBroker[] = []
    for (let node = 1; node <= nodes; node += 1) {
      const address = { host: `kafka-${node}`, port: 9092 }
      brokers.push(await ScriptedBroker.listen(network, { ...address, versions }))
    }
    const leaders = new Map(
      Object.entries(topics).map(([topic, count]) => [
        topic,
        Array.from({ length: count }, (_, index) => ({ node: 1 + (index % nodes), epoch: 0 })),
      ]),
    )
    return new ScriptedCluster(network, brokers, leaders, clock)
  }

  /** A client of this cluster, on its clock and network. */
  client(options: Partial<KafkaClientOptions> = {}): KafkaClient {
    return new KafkaClient({
      brokers: this.brokers.map(({ address }) => `${address.host}:${address.port}`),
      clock: this.clock,
      random: seededRandom(1),
      transport: this.network,
      log: silentLog,
      ...options,
    })
  }

  /** The broker with this node id. */
  node(node: number): ScriptedBroker {
    const broker = this.brokers[node - 1]
    if (broker === undefined) throw new Error(`There is no node ${node}`)
    return broker
  }

  /** Another broker leads the partition from now on. */
  moveLeader(topic: string, partition: number, node: number): void {
    const leader = this.leaders.get(topic)?.[partition]
    if (leader === undefined) throw new Error(`There is no ${topic}-${partition}`)
    leader.node = node
    leader.epoch += 1
  }

  #script(broker: ScriptedBroker): void {
    broker.on(metadata, ({ body }) => {
      this.metadataCount += 1
      const names = body.topics?.map(({ name }) => name ?? '') ?? [...this.leaders.keys()]
      return {
        controllerId: 1,
        brokers: this.brokers.map(({ address }, index) => ({ nodeId: index + 1, ...address })),
        topics: names.map((name) => this.#topicRow(name)),
      }
    })
    broker.on(findCoordinator, () => {
      const address = this.brokers[this.coordinator - 1]?.address
      return address === undefined
        ? {
            errorCode: errorCode.COORDINATOR_NOT_AVAILABLE,
            nodeId: -1,
            host: '',
            port: -1,
          }
        : { errorCode: 0, nodeId: this.coordinator, ...address }
    })
    broker.on(initProducerId, () => ({ errorCode: 0, producerId: 1000, producerEpoch: 0 }))
  }

  #topicRow(name: string) {
    const leaders = this.leaders.get(name)
    return {
      errorCode: leaders === undefined ? errorCode.UNKNOWN_TOPIC_OR_PARTITION : 0,
      name,
      partitions: (leaders ?? []).map(({ node, epoch }, partitionIndex) => ({
        errorCode: node < 0 ? errorCode.LEADER_NOT_AVAILABLE : 0,
        partitionIndex,
        leaderId: node,
        leaderEpoch: epoch,
        replicaNodes: [1],
        isrNodes: [1],
      })),
    }
  }
}

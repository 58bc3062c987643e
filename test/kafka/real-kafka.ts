import type { TestProject } from 'vitest/node'
import { silentLog } from '../../src/base/log.ts'
import { GroupCoordinator } from '../../src/client/group-coordinator.ts'
import { KafkaClient } from '../../src/client/kafka-client.ts'
import { systemPorts } from '../../src/config.ts'
import { KafkaCluster } from '../peers/kafka-cluster.ts'

/** Enough to have one in each partition of __consumer_offsets. */
const firstGroups = 12
const roundsMax = 100

/**
 * Vitest's global setup of a run on a real Kafka: one broker of the project's version, for all its
 * tests.
 */
export async function setup({ config }: TestProject): Promise<() => Promise<void>> {
  const version = config.env['MILLPOND_TEST_KAFKA_VERSION']
  const cluster = await KafkaCluster.start({ version, heapMb: 512 })
  try {
    const [address] = cluster.bootstrap
    if (address === undefined) throw new Error('a cluster has at least one broker')
    await settleCoordinators(address)
    config.env['MILLPOND_TEST_KAFKA'] = address
  } catch (error) {
    await cluster.close()
    throw error
  }
  return () => cluster.close()
}

/**
 * The first group of all has a broker create __consumer_offsets. Kafka 3.9 may answer for a partition
 * of it that it is about to load, and forgets then who has joined: a member has to join anew, as ours
 * do, but tests of single requests are not about that.
 */
async function settleCoordinators(address: string): Promise<void> {
  const client = new KafkaClient({ brokers: [address], log: silentLog, ...systemPorts })
  const groups = Array.from(
    { length: firstGroups },
    (_, index) => new GroupCoordinator(client, `first-${index}`),
  )
  try {
    for (let round = 0; round < roundsMax; round += 1) {
      const results: string[] = []
      for (const group of groups) results.push(await joinAndLeave(group))
      if (results.every((result) => result === 'NONE')) return
    }
    throw new Error(`the coordinators of ${address} do not settle`)
  } finally {
    for (const group of groups) await group.close()
    await client.close()
  }
}

/** The first error on the way, or `NONE`. */
async function joinAndLeave(group: GroupCoordinator): Promise<string> {
  const request = {
    instanceId: null,
    sessionTimeoutMs: 10_000,
    rebalanceTimeoutMs: 10_000,
    protocolType: 'consumer',
    protocols: [{ name: 'p', metadata: Buffer.alloc(0) }],
  }
  const { memberId } = await group.joinGroup({ ...request, memberId: '' })
  const { error, generation } = await group.joinGroup({ ...request, memberId })
  const member = { memberId, instanceId: null, generation }
  if (error !== 'NONE') return error
  const synced = await group.syncGroup({
    ...member,
    protocolType: 'consumer',
    protocolName: 'p',
    assignments: [],
  })
  const beat = synced.error === 'NONE' ? await group.heartbeat(member) : synced.error
  const left = await group.leaveGroup({ memberId, instanceId: null })
  return beat === 'NONE' ? left : beat
}

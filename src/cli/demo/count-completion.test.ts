import { afterAll, beforeAll, expect, test } from 'vitest'
import { silentLog } from '../../base/log.ts'
import { startBroker, type Broker } from '../../broker/index.ts'
import { Admin } from '../../client/admin.ts'
import { KafkaClient } from '../../client/kafka-client.ts'
import { commitOffsets } from '../../client/offsets.ts'
import { Producer } from '../../client/producer.ts'
import { systemPorts } from '../../config.ts'
import { isAllProcessed } from './count-completion.ts'

let broker: Broker
let client: KafkaClient
let admin: Admin
beforeAll(async () => {
  broker = await startBroker({ autoCreateTopics: false })
  client = new KafkaClient({ brokers: [broker.address], log: silentLog, ...systemPorts })
  admin = new Admin(client)
})
afterAll(async () => {
  await client.close()
  await broker.close()
})

const { signal } = new AbortController()
const repartition = 'app-counts-repartition'

test('everything is processed when each partition is committed to its end', async () => {
  const isDone = (): Promise<boolean> => isAllProcessed({ client, admin }, 'app', 'lines', signal)
  expect(await isDone()).toBe(false)

  await admin.createTopics([{ topic: 'lines', partitions: 2 }])
  await admin.createTopics([{ topic: 'others', partitions: 1 }])
  expect(await isDone()).toBe(true)

  await client.topicMetadata(['lines', 'others'])
  await using producer = new Producer(client)
  producer.send('lines', 1, null, Buffer.from('to be'), 0, [])
  producer.send('others', 0, null, Buffer.from('not ours'), 0, [])
  await producer.flush()
  expect(await isDone()).toBe(false)

  const identity = { groupId: 'app', memberId: '', instanceId: null, generation: -1 }
  await commitOffsets(client, identity, [{ topic: 'lines', partition: 1, offset: 1 }])
  expect(await isDone()).toBe(true)

  await admin.createTopics([{ topic: repartition, partitions: 1 }])
  await client.topicMetadata([repartition])
  producer.send(repartition, 0, Buffer.from('to'), Buffer.from('to'), 0, [])
  producer.send(repartition, 0, Buffer.from('be'), Buffer.from('be'), 0, [])
  await producer.flush()
  expect(await isDone()).toBe(false)
  await commitOffsets(client, identity, [{ topic: repartition, partition: 0, offset: 1 }])
  expect(await isDone()).toBe(false)
  await commitOffsets(client, identity, [{ topic: repartition, partition: 0, offset: 2 }])
  expect(await isDone()).toBe(true)
})

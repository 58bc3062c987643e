/**
 * An application of tables changes hands between Kafka Streams and Millpond: what one of them has
 * remembered of foreign keys, the other answers.
 */
import { describe, expect, test } from 'vitest'
import { TestCluster } from '../integration/test-cluster.ts'
import { Orders, rowsOfOrders } from './orders.ts'

/** Java programs start slowly, and wait for the group. */
const slow = { timeout: 120_000 }

const kafka = { broker: 'Apache Kafka', start: () => TestCluster.start() }
const devBroker = { broker: 'the dev broker', start: () => TestCluster.onDevBroker() }

const afterFirst = [
  'named\to1\tann pen for Ann',
  'named\to2\tann ink for Ann',
  'named\to3\tbob pad for null',
  'named\to4\t- cup for null',
  'orders-of\tann\t2',
  'orders-of\tbob\t1',
]
const afterSecond = [
  'named\to1\tann pen for Anna',
  'named\to2\tbob ink for Bob',
  'named\to3\tbob pad for Bob',
  'named\to4\tann cup for Anna',
  'named\to5\teve mat for null',
  'orders-of\tann\t2',
  'orders-of\tbob\t2',
  'orders-of\teve\t1',
]
const afterThird = [
  'named\to2\tbob ink for null',
  'named\to3\t- pad for null',
  'named\to4\tann cup for A.',
  'named\to5\teve mat for Eve',
  'orders-of\tann\t1',
  'orders-of\tbob\t1',
  'orders-of\teve\t1',
]

async function writeFirst(orders: Orders): Promise<void> {
  await orders.write('customers', { ann: 'Ann' })
  await orders.write('orders', { o1: 'ann pen', o2: 'ann ink', o3: 'bob pad', o4: '- cup' })
}

async function writeSecond(orders: Orders): Promise<void> {
  await orders.write('customers', { ann: 'Anna', bob: 'Bob' })
  await orders.write('orders', { o2: 'bob ink', o4: 'ann cup', o5: 'eve mat' })
}

async function writeThird(orders: Orders): Promise<void> {
  await orders.write('customers', { ann: 'A.', bob: null, eve: 'Eve' })
  await orders.write('orders', { o1: null, o3: '- pad' })
}

describe.concurrent.each([kafka, devBroker])('on $broker', ({ start }) => {
  test.for([
    { cache: 'cached', cacheBytes: 10 * 1024 * 1024 },
    { cache: 'uncached', cacheBytes: 0 },
  ])(
    'Millpond and Kafka Streams take turns at a foreign-key join, $cache',
    slow,
    async ({ cacheBytes }, { signal }) => {
      await using cluster = await start()
      await Orders.createInput(cluster)
      const orders = new Orders(cluster, 'orders-app', cacheBytes)
      await writeFirst(orders)
      expect(await orders.runJava('java', signal)).toEqual(afterFirst)

      const millpond = orders.millpond('millpond')
      await millpond.start()
      expect(await rowsOfOrders(millpond)).toEqual(afterFirst)
      await writeSecond(orders)
      await orders.processed(signal)
      expect(await rowsOfOrders(millpond)).toEqual(afterSecond)
      await millpond.close()

      await writeThird(orders)
      expect(await orders.runJava('java', signal)).toEqual(afterThird)
    },
  )

  test('both keep the same subscriptions', slow, async ({ signal }) => {
    await using cluster = await start()
    await Orders.createInput(cluster)
    const [java, other] = [new Orders(cluster, 'java', 0), new Orders(cluster, 'other', 0)]
    const millpond = other.millpond('millpond')
    await millpond.start()
    for (const write of [writeFirst, writeSecond, writeThird]) {
      await write(java)
      await other.processed(signal)
    }
    expect(await rowsOfOrders(millpond)).toEqual(afterThird)
    expect(await java.runJava('java', signal)).toEqual(afterThird)

    const stores = ['naming-subscription-store', 'named', 'orders-of']
    for (const store of stores)
      expect(await other.changelog(store)).toEqual(await java.changelog(store))
  })
})

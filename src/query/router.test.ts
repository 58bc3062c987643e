import { expect, test } from 'vitest'
import { QueryInstance } from '../../test/peers/query-instance.ts'
import { StreamsError } from '../errors.ts'
import type { Endpoint } from '../group/membership.ts'
import { serdes } from '../serde/serdes.ts'
import { keyValueStore } from '../store/descriptor.ts'
import type {
  CountAnswer,
  CountRequest,
  GetAnswer,
  GetRequest,
  PageAnswer,
  PageRequest,
} from './request.ts'
import { QueryRouter, endpointName, type QueryPeers } from './router.ts'

const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
const words = ['kafka', 'a', 'to', 'be', 'f', 'c', 'b', 'g']

/** Instances that call each other directly, and count how often. */
class Cluster implements QueryPeers {
  readonly instances: QueryInstance[] = []
  readonly endpoints: Endpoint[] = []
  readonly routers: QueryRouter[] = []
  readonly unreachable = new Set<string>()
  hops = 0

  constructor(heldByInstance: readonly (readonly number[])[]) {
    for (const [index, held] of heldByInstance.entries()) {
      const instance = new QueryInstance(counts, 3, held)
      for (const [at, word] of words.entries()) instance.put(word, at, 1000 + at)
      this.instances.push(instance)
      this.endpoints.push({ host: 'peer', port: index + 1 })
    }
    for (const [index, target] of this.instances.entries()) {
      for (const [owner, held] of heldByInstance.entries()) {
        for (const partition of held)
          target.owners.set(partition, this.endpoints[owner] as Endpoint)
      }
      const self = this.endpoints[index] as Endpoint
      this.routers.push(new QueryRouter({ target, self, peers: this }))
    }
  }

  async get(peer: Endpoint, request: GetRequest): Promise<GetAnswer> {
    return this.#at(peer).getHere(request)
  }

  async page(
    peer: Endpoint,
    partitions: readonly number[],
    request: PageRequest,
  ): Promise<PageAnswer> {
    return this.#at(peer).pageHere(partitions, request)
  }

  async count(
    peer: Endpoint,
    partitions: readonly number[],
    request: CountRequest,
  ): Promise<CountAnswer> {
    return this.#at(peer).countHere(partitions, request)
  }

  #at(peer: Endpoint): QueryRouter {
    this.hops += 1
    if (this.unreachable.has(endpointName(peer))) {
      throw new StreamsError('PEER_UNREACHABLE', { peer: endpointName(peer) })
    }
    return this.routers[peer.port - 1] as QueryRouter
  }
}

const get = (key: string): GetRequest => ({
  kind: 'get',
  store: 'counts',
  keyBytes: Buffer.from(key),
})

const page = (options: Partial<PageRequest> = {}): PageRequest => ({
  kind: 'page',
  store: 'counts',
  bounds: {},
  limit: 100,
  ...options,
})

const router = (cluster: Cluster, index = 0): QueryRouter => cluster.routers[index] as QueryRouter

const target = (cluster: Cluster, index = 0): QueryInstance =>
  cluster.instances[index] as QueryInstance

test('a key that is here is answered here', async () => {
  const cluster = new Cluster([[0, 1], [2]])
  const { found, meta } = await router(cluster).get(get('kafka'))
  expect(found).toMatchObject({ value: 0, timestamp: 1000 })
  expect(meta).toEqual({
    store: 'counts',
    partition: 1,
    servedBy: 'peer:1',
    role: 'active',
    lag: 0,
    position: { lines: { 1: 101 } },
    partial: false,
  })
  expect(cluster.hops).toBe(0)
})

test('a key that is elsewhere takes one hop to its owner', async () => {
  const cluster = new Cluster([[0, 1], [2]])
  const { found, meta } = await router(cluster).get(get('be'))
  expect(found).toMatchObject({ value: 3 })
  expect(meta).toMatchObject({ partition: 2, servedBy: 'peer:2' })
  expect(cluster.hops).toBe(1)
})

test('absent is what the owner says', async () => {
  const cluster = new Cluster([[0, 1], [2]])
  const { found, meta } = await router(cluster, 1).get(get('nobody'))
  expect(found).toBeUndefined()
  expect(meta.servedBy).toBe('peer:1')
})

test('the owner of a key without an owner is unknown', async () => {
  const cluster = new Cluster([[0, 1], []])
  await expect(router(cluster).get(get('be'))).rejects.toMatchObject({
    code: 'OWNER_UNKNOWN',
    context: { store: 'counts', partition: 2 },
  })
})

test('a partition that is on its way here is awaited, not forwarded', async () => {
  const cluster = new Cluster([[0, 1], [2]])
  target(cluster, 1).drop(2)
  await expect(router(cluster, 1).get(get('be'))).rejects.toMatchObject({
    code: 'STREAMS_REBALANCING',
  })
  expect(cluster.hops).toBe(0)
})

test('a hop that arrives at the wrong instance is refused, and for the asker the store migrated', async () => {
  const cluster = new Cluster([[0, 1], [2]])
  target(cluster, 1).drop(2)
  target(cluster, 1).owners.set(2, { host: 'peer', port: 1 })
  await expect(router(cluster, 1).getHere(get('be'))).rejects.toMatchObject({
    code: 'MISDIRECTED',
  })
  await expect(router(cluster).get(get('be'))).rejects.toMatchObject({
    code: 'STORE_MIGRATED',
    http: 503,
  })
})

test('a page is merged from all instances, each asked once', async () => {
  const cluster = new Cluster([[0], [1, 2]])
  const { rows, more, meta } = await router(cluster).page(page())
  expect(rows.map(({ key, value }) => [key, value])).toEqual([
    ['a', 1],
    ['b', 6],
    ['be', 3],
    ['c', 5],
    ['f', 4],
    ['g', 7],
    ['kafka', 0],
    ['to', 2],
  ])
  expect(more).toBe(false)
  expect(meta).toEqual({
    store: 'counts',
    partitions: [0, 1, 2],
    servedBy: ['peer:1', 'peer:2'],
    role: 'active',
    lag: 0,
    position: { lines: { 0: 100, 1: 101, 2: 102 } },
    partial: false,
  })
  expect(cluster.hops).toBe(1)
  expect(target(cluster).openScans + target(cluster, 1).openScans).toBe(0)
})

test('pages that follow each other have each row once', async () => {
  const cluster = new Cluster([[0], [1], [2]])
  const keys: unknown[] = []
  let after: Buffer | undefined
  for (let pages = 0; pages < 5; pages += 1) {
    const answer = await router(cluster, 1).page(page({ limit: 3, after }))
    keys.push(...answer.rows.map(({ key }) => key))
    if (!answer.more) break
    after = answer.rows.at(-1)?.keyBytes
  }
  expect(keys.join(' ')).toBe('a b be c f g kafka to')
})

test('a page without one of its partitions fails, unless parts are welcome', async () => {
  const cluster = new Cluster([[0], [1], [2]])
  cluster.unreachable.add('peer:2')
  await expect(router(cluster).page(page())).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
    context: { peer: 'peer:2' },
  })
  const { rows, meta } = await router(cluster).page(page({ allowPartial: true }))
  expect(rows.map(({ key }) => key).join(' ')).toBe('b be f g to')
  expect(meta).toMatchObject({ partial: true, partitions: [0, 2], missingPartitions: [1] })
})

test('a partition that is being restored on its instance is missing', async () => {
  const cluster = new Cluster([[0], [1, 2]])
  target(cluster, 1).restoring.add(2)
  await expect(router(cluster).page(page())).rejects.toMatchObject({
    code: 'STORE_NOT_AVAILABLE',
    context: { partition: 2 },
  })
  const { meta } = await router(cluster).page(page({ allowPartial: true }))
  expect(meta).toMatchObject({ partitions: [0, 1], missingPartitions: [2] })
})

test('nothing at all is a failure also where parts are welcome', async () => {
  const cluster = new Cluster([[], [0, 1, 2]])
  cluster.unreachable.add('peer:2')
  await expect(router(cluster).page(page({ allowPartial: true }))).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
  })
})

test('rows are counted over all instances', async () => {
  const cluster = new Cluster([[0], [1], [2]])
  const request: CountRequest = { kind: 'count', store: 'counts' }
  const { approximate, meta } = await router(cluster).count(request)
  expect(approximate).toBe(8)
  expect(meta.partitions).toEqual([0, 1, 2])
})

test('a hop for a partition that the store does not have is refused', async () => {
  const cluster = new Cluster([[0, 1, 2]])
  await expect(router(cluster).pageHere([3], page())).rejects.toMatchObject({
    code: 'STORE_PARTITION_INVALID',
  })
})

/** Three instances: 0 owns partition 0 and has a copy of 1, 1 owns 1, 2 owns 2 and has a copy of 1. */
function withCopies(): Cluster {
  const cluster = new Cluster([[0, 1], [1], [1, 2]])
  for (const index of [0, 1, 2]) {
    const one = target(cluster, index)
    one.owners.set(0, { host: 'peer', port: 1 })
    one.owners.set(1, { host: 'peer', port: 2 })
    one.copies.set(1, [
      { host: 'peer', port: 1 },
      { host: 'peer', port: 3 },
    ])
    if (index !== 1) one.standbys.set(1, 10 + index)
  }
  return cluster
}

test('the owner is asked first, also where a copy may answer', async () => {
  const cluster = withCopies()
  const { meta } = await router(cluster).get({ ...get('kafka'), consistency: 'any' })
  expect(meta).toMatchObject({ servedBy: 'peer:2', role: 'active', lag: 0 })
})

test('without its owner a key is answered by a copy that is here, or by another one', async () => {
  const cluster = withCopies()
  cluster.unreachable.add('peer:2')
  const here = await router(cluster).get({ ...get('kafka'), consistency: 'any' })
  expect(here.found).toMatchObject({ value: 0 })
  expect(here.meta).toMatchObject({ servedBy: 'peer:1', role: 'standby', lag: 10, position: {} })
  target(cluster).drop(1)
  const there = await router(cluster).get({ ...get('kafka'), maxLag: 12 })
  expect(there.meta).toMatchObject({ servedBy: 'peer:3', role: 'standby', lag: 12 })
  await expect(router(cluster).get(get('kafka'))).rejects.toMatchObject({
    code: 'PEER_UNREACHABLE',
  })
})

test('without any owner that is known, copies answer as well', async () => {
  const cluster = withCopies()
  target(cluster).owners.delete(1)
  const { meta } = await router(cluster).get({ ...get('kafka'), consistency: 'any' })
  expect(meta).toMatchObject({ servedBy: 'peer:1', role: 'standby' })
  await expect(router(cluster).get(get('kafka'))).rejects.toMatchObject({ code: 'OWNER_UNKNOWN' })
})

test('copies that are too far behind are named as the reason', async () => {
  const cluster = withCopies()
  cluster.unreachable.add('peer:2')
  await expect(router(cluster).get({ ...get('kafka'), maxLag: 9 })).rejects.toMatchObject({
    code: 'STALE',
    http: 412,
    context: { lag: 10, maxLag: 9 },
  })
})

test('a question that is wrong everywhere is asked once', async () => {
  const cluster = withCopies()
  cluster.routers[1] = new Proxy(router(cluster, 1), {
    get: () => () => Promise.reject(new StreamsError('OPERATION_NOT_ALLOWED', { store: 'counts' })),
  })
  const asked = router(cluster).get({ ...get('kafka'), consistency: 'any' })
  await expect(asked).rejects.toMatchObject({ code: 'OPERATION_NOT_ALLOWED' })
  expect(cluster.hops).toBe(1)
})

test('a hop for a copy is answered only when the question allows it', async () => {
  const cluster = withCopies()
  await expect(router(cluster).getHere(get('kafka'))).rejects.toMatchObject({ code: 'MISDIRECTED' })
  const { meta } = await router(cluster).getHere({ ...get('kafka'), consistency: 'any' })
  expect(meta).toMatchObject({ role: 'standby', lag: 10 })
})

test('a page takes from copies what its owners do not give', async () => {
  const cluster = withCopies()
  cluster.unreachable.add('peer:2')
  const { rows, meta } = await router(cluster).page(page({ maxLag: 20 }))
  expect(rows.map(({ key }) => key).join(' ')).toBe('a b be c f g kafka to')
  expect(meta).toMatchObject({
    partitions: [0, 1, 2],
    role: 'standby',
    lag: 10,
    partial: false,
  })
  expect(meta.servedBy).toEqual(['peer:1', 'peer:3'])
  target(cluster).drop(1)
  const other = await router(cluster).page(page({ maxLag: 20 }))
  expect(other.meta).toMatchObject({ partitions: [0, 1, 2], lag: 12, partial: false })
  expect(other.rows).toHaveLength(8)
  const request: CountRequest = { kind: 'count', store: 'counts', maxLag: 1 }
  await expect(router(cluster).count(request)).rejects.toMatchObject({ code: 'STALE' })
  const partial = await router(cluster).count({ ...request, allowPartial: true })
  expect(partial.meta).toMatchObject({ partitions: [0, 2], missingPartitions: [1] })
})

import { expect, test } from 'vitest'
import { StreamsBuilder, keyValueStore, serdes, topic } from '../../src/index.ts'
import { simulatedCluster } from '../../src/testing/simulated-cluster.ts'

test.each(['classic', 'streams'] as const)(
  'a copy at an instance that is cut off keeps no bound once its session is over (%s)',
  async (groupProtocol) => {
    const events = topic('events', { key: serdes.string, value: serdes.string })
    const counts = keyValueStore('counts', { key: serdes.string, value: serdes.long })
    const builder = new StreamsBuilder()
    builder.stream(events).groupByKey().count({ store: counts })
    const topology = builder.build()
    await using cluster = await simulatedCluster({ seed: 5 })
    await cluster.createTopic(events, { partitions: 1 })
    const config = {
      applicationId: 'app',
      groupProtocol,
      standbyReplicas: 1,
      sessionTimeout: 6000,
      commitInterval: 100,
    }
    const [a, b] = ['a', 'b'].map((name) => cluster.instance(name, topology, config))
    if (a === undefined || b === undefined) throw new Error('there are two')
    a.start()
    b.start()
    const count = (instance: typeof a): Promise<number | undefined> =>
      instance.streams.store(counts).get('k', { maxLag: 5 })
    const known = async (instance: typeof a): Promise<boolean> =>
      (await count(instance).catch(() => undefined)) === 1
    await cluster.produce(events, [{ key: 'k', value: 'x' }])
    for (let tries = 0; !(await known(a)) || !(await known(b)); tries += 1) {
      expect(tries).toBeLessThan(100)
      await cluster.advance(1000)
    }
    const copy = [a, b].find(({ streams }) =>
      streams.localTasks().some(({ role }) => role === 'standby'),
    )
    if (copy === undefined) throw new Error('one of them is a copy')

    cluster.isolate(copy.name)
    const records = Array.from({ length: 20 }, () => ({ key: 'k', value: 'x' }))
    await cluster.produce(events, records)
    await cluster.advance(10_000)
    await expect(count(copy)).rejects.toMatchObject({ code: 'STORE_NOT_AVAILABLE' })
    expect(await copy.streams.store(counts).get('k', { consistency: 'any' })).toBe(1)

    cluster.heal()
    await cluster.advance(60_000)
    expect(await count(copy)).toBe(21)
  },
)

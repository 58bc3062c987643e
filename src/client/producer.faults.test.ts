import { describe, expect, test } from 'vitest'
import { settled, startProducing, type Fault } from '../../test/peers/scripted-appends.ts'
import { errorCode } from '../protocol/error-codes.ts'
import { produce } from '../protocol/messages/0-produce.ts'

describe('a record is written once', () => {
  test('when the answer is lost', async () => {
    const { clock, producer, logs, faults, send, end } = await startProducing({
      producer: { batchBytes: 200 },
    })
    faults.push('lose the answer')
    const sent = Array.from({ length: 40 }, (_, index) => `value ${index}`)
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    await end()
  })

  test('when the request is lost', async () => {
    const { clock, producer, logs, faults, send, end } = await startProducing({
      producer: { batchBytes: 200 },
    })
    faults.push({ code: 0, isAppended: true }, 'lose the request')
    const sent = Array.from({ length: 40 }, (_, index) => `value ${index}`)
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    await end()
  })

  test('when the broker hangs until the request times out', async () => {
    const { clock, producer, logs, faults, send, end } = await startProducing()
    faults.push('hang')
    send('a')
    await settled(clock, producer.flush(), 35_000)
    expect(logs[0]?.values).toEqual(['a'])
    await end()
  })

  test('when a leader that is new takes the second batch but not the first', async () => {
    const { clock, producer, logs, faults, send, end } = await startProducing({
      producer: { batchBytes: 200 },
    })
    faults.push({ code: errorCode.NOT_LEADER_OR_FOLLOWER })
    const sent = Array.from({ length: 40 }, (_, index) => `value ${index}`)
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    await end()
  })

  test('when the leader moves between two batches', async () => {
    const { clock, cluster, producer, logs, send, end } = await startProducing({
      nodes: 2,
      producer: { batchBytes: 200 },
    })
    const sent = Array.from({ length: 40 }, (_, index) => `value ${index}`)
    for (const value of sent.slice(0, 20)) send(value)
    cluster.moveLeader('t', 0, 2)
    for (const value of sent.slice(20)) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    expect(cluster.node(2).received(produce).length).toBeGreaterThan(0)
    await end()
  })

  test('when the broker wrote it but had too few replicas', async () => {
    const { clock, producer, logs, faults, send, end } = await startProducing()
    faults.push({ code: errorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, isAppended: true })
    send('a')
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(['a'])
    expect(producer.nextOffset('t', 0)).toBe(1)
    await end()
  })

  test('when the broker only says that it has it already', async () => {
    const { clock, producer, faults, send, end } = await startProducing()
    faults.push({ code: errorCode.DUPLICATE_SEQUENCE_NUMBER, isAppended: true })
    send('a')
    await settled(clock, producer.flush())
    // Where it was written is not told; the next acknowledgement does.
    expect(producer.nextOffset('t', 0)).toBeUndefined()
    send('b')
    await settled(clock, producer.flush())
    expect(producer.nextOffset('t', 0)).toBe(2)
    await end()
  })

  test('whatever is lost, in whatever order (25 seeds of faults)', async () => {
    for (let seed = 1; seed <= 25; seed += 1) {
      const { clock, cluster, producer, logs, faults, end } = await startProducing({
        nodes: 2,
        partitions: 3,
        producer: { batchBytes: 150, lingerMs: 1 },
      })
      let state = seed
      const chance = (bound: number): number => {
        state = (state * 1_103_515_245 + 12_345) % 2 ** 31
        return Math.floor((state / 2 ** 31) * bound)
      }
      const kinds: (Fault | undefined)[] = [
        'lose the answer',
        'lose the request',
        { code: errorCode.NOT_ENOUGH_REPLICAS },
        { code: errorCode.REQUEST_TIMED_OUT, isAppended: true },
      ]
      const sent: string[][] = [[], [], []]
      for (let index = 0; index < 60; index += 1) {
        const partition = chance(3)
        sent[partition]?.push(`${index}`)
        producer.send('t', partition, null, Buffer.from(`${index}`), 0, [])
        const fault = chance(4) === 0 ? kinds[chance(kinds.length)] : undefined
        if (fault !== undefined) faults.push(fault)
        if (chance(20) === 0) cluster.moveLeader('t', chance(3), 1 + chance(2))
        if (chance(5) === 0) await clock.run(chance(10))
      }
      await settled(clock, producer.flush())
      expect(
        logs.map((log) => log.values),
        `seed ${seed}`,
      ).toEqual(sent)
      await end()
    }
  })
})

describe('failures', () => {
  test('a record above the limit is refused by send and harms nothing', async () => {
    const { clock, producer, logs, send, end } = await startProducing({
      producer: { recordBytesMax: 1000 },
    })
    expect(() => send('x'.repeat(1001))).toThrowError(
      expect.objectContaining({ code: 'RECORD_TOO_LARGE' }),
    )
    send('small')
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(['small'])
    await end()
  })

  test('a batch that the broker finds too large is sent in parts', async () => {
    const { clock, producer, logs, setRecordsMax, send, end } = await startProducing({
      producer: { batchBytes: 800 },
    })
    setRecordsMax(3)
    const sent = Array.from({ length: 50 }, (_, index) => `value ${index}`)
    for (const value of sent) send(value)
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(sent)
    expect(logs[0]?.batches.every((batch) => batch.count <= 3)).toBe(true)
    expect(producer.nextOffset('t', 0)).toBe(50)
    expect(producer.queuedBytes).toBe(0)
    await end()
  })

  test('a record that the broker refuses fails its partition, and every flush from then on', async () => {
    const { clock, producer, logs, faults, send, end } = await startProducing({ partitions: 2 })
    faults.push({ code: errorCode.INVALID_RECORD })
    send('bad', 0)
    const failed = {
      code: 'DELIVERY_FAILED',
      context: { topic: 't', partition: 0, detail: expect.stringContaining('INVALID_RECORD') },
    }
    await expect(settled(clock, producer.flush())).rejects.toMatchObject(failed)
    await expect(producer.flush()).rejects.toMatchObject(failed)
    expect(() => send('next', 0)).toThrowError(expect.objectContaining({ code: 'DELIVERY_FAILED' }))
    send('other', 1)
    await clock.run(100)
    expect(logs[1]?.values).toEqual(['other'])
    expect(producer.queuedBytes).toBe(0)
    await end()
  })

  test('a record that is not acknowledged in time has failed, with the last reason', async () => {
    const { clock, cluster, producer, send, end } = await startProducing({
      producer: { deliveryTimeoutMs: 10_000 },
    })
    cluster.moveLeader('t', 0, -1)
    send('a')
    await expect(settled(clock, producer.flush(), 15_000)).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
      context: { detail: expect.stringContaining('no acknowledgement within 10000 ms') },
    })
    await end()
  })

  test('a client that is closed fails what waits for a leader, at once', async () => {
    const { clock, cluster, client, producer, send, end } = await startProducing()
    send('first')
    await settled(clock, producer.flush())
    cluster.moveLeader('t', 0, -1)
    await client.refreshMetadata(['t'])
    send('a')
    const flush = producer.flush()
    await clock.run(500)
    await client.close()
    await expect(settled(clock, flush, 5000)).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
      cause: { code: 'CLIENT_CLOSED' },
    })
    await end()
  })

  test('a record that was never sent in time has failed by time, and by nothing else', async () => {
    // As after a process that stood still: the batch is finished only when its time is over.
    const { clock, logs, producer, send, end } = await startProducing({
      producer: { deliveryTimeoutMs: 10_000, lingerMs: 20_000 },
    })
    send('a')
    await clock.run(21_000)
    await expect(producer.flush()).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
      cause: { code: 'REQUEST_TIMEOUT' },
    })
    expect(logs[0]?.values).toEqual([])
    await end()
  })

  test('a gap in front of the first batch means that written records are lost: it is fatal', async () => {
    const { clock, producer, logs, send, end } = await startProducing()
    for (const value of ['a', 'b']) {
      send(value)
      await settled(clock, producer.flush())
    }
    // The broker lost the end of its log, as after an unclean election.
    logs[0]?.batches.splice(1)
    logs[0]?.values.splice(1)
    send('c')
    await expect(settled(clock, producer.flush())).rejects.toMatchObject({
      code: 'DELIVERY_FAILED',
      context: { detail: expect.stringContaining('OUT_OF_ORDER_SEQUENCE_NUMBER') },
    })
    await end()
  })

  test('a broker that forgot the producer by retention gets a new epoch, counted from 0', async () => {
    const { clock, producer, logs, faults, send, end } = await startProducing()
    send('a')
    await settled(clock, producer.flush())
    faults.push({ code: errorCode.UNKNOWN_PRODUCER_ID })
    send('b')
    await settled(clock, producer.flush())
    send('c')
    await settled(clock, producer.flush())
    expect(logs[0]?.values).toEqual(['a', 'b', 'c'])
    expect(logs[0]?.batches).toEqual([
      { epoch: 0, sequence: 0, count: 1, offset: 0 },
      { epoch: 1, sequence: 0, count: 1, offset: 1 },
      { epoch: 1, sequence: 1, count: 1, offset: 2 },
    ])
    await end()
  })

  test('an epoch that is fenced is fatal', async () => {
    const { clock, producer, faults, send, end } = await startProducing()
    faults.push({ code: errorCode.INVALID_PRODUCER_EPOCH })
    send('a')
    await expect(settled(clock, producer.flush())).rejects.toMatchObject({
      context: { detail: expect.stringContaining('INVALID_PRODUCER_EPOCH') },
    })
    await end()
  })
})

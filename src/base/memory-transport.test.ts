import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { ManualClock } from './manual-clock.ts'
import { MemoryTransport, type MemoryTransportOptions } from './memory-transport.ts'
import type { Connection } from './transport.ts'

/** A connected pair; what arrives at either end is written down. */
async function connected(options: Partial<MemoryTransportOptions> = {}) {
  const clock = new ManualClock()
  const network = new MemoryTransport({ clock, ...options })
  const servers: Connection[] = []
  await network.listen({ host: 'a', port: 1, onConnection: (server) => servers.push(server) })
  const connecting = network.connect({ host: 'a', port: 1, timeoutMs: 1000 })
  await clock.run(network.delayMs)
  const client = await connecting
  const server = servers[0] as Connection
  const events: string[] = []
  client.onData = (bytes) => events.push(`client got ${bytes.toString()}`)
  client.onClose = (reason) => events.push(`client closed: ${reason?.message ?? 'end'}`)
  server.onData = (bytes) => events.push(`server got ${bytes.toString()}`)
  server.onClose = (reason) => events.push(`server closed: ${reason?.message ?? 'end'}`)
  return { clock, network, client, server, events }
}

describe('MemoryTransport', () => {
  test('bytes arrive at the other end in order, not inside the call that writes them', async () => {
    const { clock, client, server, events } = await connected()
    client.write(Buffer.from('one'))
    client.write(Buffer.from('two'))
    server.write(Buffer.from('three'))
    expect(events).toEqual([])
    expect(client.queuedBytes).toBe(6)
    await clock.settle()
    expect(events).toEqual(['server got one', 'server got two', 'client got three'])
    expect(client.queuedBytes).toBe(0)
  })

  test('corked writes arrive as one', async () => {
    const { clock, client, events } = await connected()
    client.cork()
    client.write(Buffer.from('a'))
    client.write(Buffer.from('b'))
    await clock.settle()
    expect(events).toEqual([])
    client.uncork()
    await clock.settle()
    expect(events).toEqual(['server got ab'])
  })

  test('with chunkBytesMax, bytes arrive in pieces', async () => {
    const { clock, client, events } = await connected({ chunkBytesMax: 2 })
    client.write(Buffer.from('abcde'))
    await clock.settle()
    expect(events).toEqual(['server got ab', 'server got cd', 'server got e'])
  })

  test('with a delay, bytes arrive when its time has come', async () => {
    const { clock, client, events } = await connected({ delayMs: 10 })
    client.write(Buffer.from('x'))
    await clock.run(9)
    expect(events).toEqual([])
    await clock.run(1)
    expect(events).toEqual(['server got x'])
  })

  test('a cut closes both ends', async () => {
    const { clock, network, events } = await connected()
    expect(network.openCount).toBe(1)
    network.cut('a:1')
    await clock.settle()
    expect(events.toSorted()).toEqual([
      'client closed: connection reset',
      'server closed: connection reset',
    ])
    expect(network.openCount).toBe(0)
  })

  test('what is written to a stalled address arrives after it is resumed, in order', async () => {
    const { clock, network, client, events } = await connected()
    network.stall('a:1')
    client.write(Buffer.from('1'))
    await clock.settle()
    client.write(Buffer.from('2'))
    await clock.settle()
    expect(events).toEqual([])
    network.resume('a:1')
    client.write(Buffer.from('3'))
    await clock.settle()
    expect(events).toEqual(['server got 1', 'server got 2', 'server got 3'])
  })

  test('a paused end gets its bytes after it resumes, in order', async () => {
    const { clock, client, server, events } = await connected()
    server.pause()
    client.write(Buffer.from('1'))
    await clock.settle()
    expect(events).toEqual([])
    server.resume()
    client.write(Buffer.from('2'))
    await clock.settle()
    expect(events).toEqual(['server got 1', 'server got 2'])
  })

  test('an end that is ended delivers what was written before', async () => {
    const { clock, client, events } = await connected()
    client.write(Buffer.from('bye'))
    client.end()
    await clock.settle()
    expect(events).toEqual(['server got bye', 'client closed: end', 'server closed: end'])
  })

  test('an address where nobody listens refuses', async () => {
    const clock = new ManualClock()
    const network = new MemoryTransport({ clock })
    await expect(network.connect({ host: 'a', port: 1, timeoutMs: 10 })).rejects.toMatchObject({
      code: 'BROKER_UNREACHABLE',
      context: { broker: 'a:1', detail: 'connection refused' },
    })
    expect(clock.timerCount).toBe(0)
  })

  test('connecting to a stalled address ends by its timeout', async () => {
    const { clock, network } = await connected()
    network.stall('a:1')
    const failed = failureOf(network.connect({ host: 'a', port: 1, timeoutMs: 10 }))
    await clock.run(10)
    expect(await failed).toMatchObject({ context: { detail: 'no connection within 10 ms' } })
  })

  test('two listeners cannot have one address', async () => {
    const { network } = await connected()
    await expect(
      network.listen({ host: 'a', port: 1, onConnection: () => undefined }),
    ).rejects.toMatchObject({ code: 'ADDRESS_IN_USE' })
  })

  test('port 0 is any free port', async () => {
    const { network } = await connected()
    const listener = await network.listen({ host: 'a', port: 0, onConnection: () => undefined })
    expect(listener.port).toBeGreaterThan(1)
  })
})

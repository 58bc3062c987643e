import { describe, expect, test } from 'vitest'
import { failureOf } from '../../test/peers/failure-of.ts'
import { seededRandom } from './random.ts'
import { SimulatedNetwork } from './simulated-network.ts'
import type { Connection } from './transport.ts'
import { VirtualTime, type VirtualProcess } from './virtual-time.ts'

/** Two machines: on `server` a process listens, on `client` one has connected. */
class Pair {
  readonly time = new VirtualTime({ random: seededRandom(3), start: 0 })
  readonly network = new SimulatedNetwork(this.time)
  readonly server: VirtualProcess = this.time.process('server')
  readonly client: VirtualProcess = this.time.process('client')
  readonly events: string[] = []
  accepted: Connection | undefined

  async listen(process = this.server): Promise<void> {
    await this.network.transport(process).listen({
      host: 'server',
      port: 9092,
      onConnection: (connection) => {
        this.accepted = connection
        this.hear('server', connection)
      },
    })
  }

  async connect(timeoutMs = 1000): Promise<Connection> {
    const transport = this.network.transport(this.client)
    const connection = await this.run(transport.connect({ host: 'server', port: 9092, timeoutMs }))
    this.hear('client', connection)
    return connection
  }

  hear(name: string, connection: Connection): void {
    connection.onData = (bytes) => this.events.push(`${name} ${bytes.toString()}`)
    connection.onClose = (reason) => this.events.push(`${name} closed ${reason?.message ?? ''}`)
  }

  async run<T>(work: Promise<T>): Promise<T> {
    let isSettled = false
    const settle = (): void => {
      isSettled = true
    }
    work.then(settle, settle)
    await this.time.run(this.time.now + 60_000, () => isSettled)
    return work
  }

  pass(ms: number): Promise<void> {
    return this.time.run(this.time.now + ms)
  }

  /** What one end has read, without the cuts. */
  read(name: string): string {
    const own = this.events.filter((event) => event.startsWith(`${name} `))
    return own.map((event) => event.slice(name.length + 1)).join('')
  }
}

describe('SimulatedNetwork', () => {
  test('bytes arrive in order, in whatever pieces', async () => {
    const pair = new Pair()
    await pair.listen()
    const connection = await pair.connect()
    const words = Array.from({ length: 200 }, (_, index) => `word-${index} `)
    for (const word of words) connection.write(Buffer.from(word))
    expect(connection.queuedBytes).toBe(words.join('').length)
    await pair.pass(10_000)
    expect(pair.read('server')).toBe(words.join(''))
    expect(pair.events.length).toBeGreaterThan(words.length)
    expect(connection.queuedBytes).toBe(0)
  })

  test('a connection is refused where nobody listens, and where the listener has died', async () => {
    const pair = new Pair()
    expect(await failureOf(pair.connect())).toMatchObject({ code: 'BROKER_UNREACHABLE' })
    await pair.listen()
    pair.server.kill()
    expect(String(await failureOf(pair.connect()))).toContain('refused')
  })

  test('a machine without power is silent until it is back', async () => {
    const pair = new Pair()
    await pair.listen()
    const connection = await pair.connect()
    pair.network.setSilent('server', true)
    pair.server.kill()
    connection.write(Buffer.from('hello'))
    await pair.pass(30_000)
    expect(pair.events).toEqual([])
    expect(String(await failureOf(pair.connect(500)))).toContain('within 500 ms')

    pair.network.setSilent('server', false)
    connection.write(Buffer.from('anybody?'))
    await pair.pass(1000)
    expect(pair.events).toEqual(['client closed connection reset'])
  })

  test('a process that dies has its connections closed, behind what it wrote', async () => {
    const pair = new Pair()
    await pair.listen()
    await pair.connect()
    pair.accepted?.write(Buffer.from('last words'))
    pair.server.kill()
    await pair.pass(1000)
    expect(pair.read('client')).toBe('last wordsclosed ')
  })

  test('what was sent against a wall arrives when it is gone, in order', async () => {
    const pair = new Pair()
    await pair.listen()
    const connection = await pair.connect()
    pair.network.block('client', 'server')
    connection.write(Buffer.from('a'))
    await pair.pass(5)
    connection.write(Buffer.from('b'))
    pair.accepted?.write(Buffer.from('still heard'))
    await pair.pass(5000)
    expect(pair.read('server')).toBe('')
    expect(pair.read('client')).toBe('still heard')
    connection.write(Buffer.from('c'))
    pair.network.unblockAll()
    connection.write(Buffer.from('d'))
    await pair.pass(5000)
    expect(pair.read('server')).toBe('abcd')
  })

  test('the end of a process behind a wall is heard when it is gone, behind what it wrote', async () => {
    const pair = new Pair()
    await pair.listen()
    await pair.connect()
    pair.network.block('server', 'client')
    pair.accepted?.write(Buffer.from('last words'))
    pair.server.kill()
    await pair.pass(5000)
    expect(pair.events).toEqual([])
    pair.network.unblock('server', 'client')
    await pair.pass(5000)
    expect(pair.read('client')).toBe('last wordsclosed ')
  })

  test('a connect waits for a wall to go', async () => {
    const pair = new Pair()
    await pair.listen()
    pair.network.block('server', 'client')
    const transport = pair.network.transport(pair.client)
    const connecting = transport.connect({ host: 'server', port: 9092, timeoutMs: 20_000 })
    await pair.pass(1500)
    expect(pair.accepted).toBeUndefined()
    pair.network.unblock('server', 'client')
    await pair.run(connecting)
    expect(pair.accepted).toBeDefined()
  })

  test('a cut is heard at both ends, and loses what was on its way', async () => {
    const pair = new Pair()
    await pair.listen()
    const connection = await pair.connect()
    connection.write(Buffer.from('lost'))
    pair.network.cut('client', 'server')
    await pair.pass(1000)
    connection.write(Buffer.from('too late'))
    await pair.pass(1000)
    expect(pair.events.sort()).toEqual([
      'client closed connection reset',
      'server closed connection reset',
    ])
  })

  test('a slow reader has everything in order when it reads again', async () => {
    const pair = new Pair()
    await pair.listen()
    const connection = await pair.connect()
    pair.accepted?.pause()
    for (const letter of 'abc') connection.write(Buffer.from(letter))
    await pair.pass(1000)
    expect(pair.read('server')).toBe('')
    pair.accepted?.resume()
    connection.write(Buffer.from('d'))
    await pair.pass(1000)
    expect(pair.read('server')).toBe('abcd')
  })

  test('a destroyed connection is closed at both ends', async () => {
    const pair = new Pair()
    await pair.listen()
    const connection = await pair.connect()
    connection.write(Buffer.from('bye'))
    connection.destroy()
    await pair.pass(1000)
    expect(pair.read('server')).toBe('byeclosed ')
    expect(pair.read('client')).toBe('closed ')
  })
})

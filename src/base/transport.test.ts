import { expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { systemTransport, type Connection } from './transport.ts'

const timeoutMs = 10_000

async function rejectionOf(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise
  } catch (error) {
    return error
  }
  return undefined
}

test('bytes go both ways, and the end of one side is told to the other', async () => {
  await using listener = await systemTransport.listen({
    host: '127.0.0.1',
    port: 0,
    onConnection: (connection) => {
      connection.onData = (bytes) => {
        connection.write(Buffer.from(bytes.toString().toUpperCase()))
        connection.end()
      }
    },
  })
  const client = await systemTransport.connect({
    host: listener.host,
    port: listener.port,
    timeoutMs,
  })
  let heard = ''
  client.onData = (bytes) => {
    heard += bytes.toString()
  }
  const closed = new Promise<Error | undefined>((resolve) => {
    client.onClose = resolve
  })
  client.write(Buffer.from('hello'))
  expect(await closed).toBeUndefined()
  expect(heard).toBe('HELLO')
})

test('a refused connection says where it was refused', async () => {
  const listener = await systemTransport.listen({
    host: '127.0.0.1',
    port: 0,
    onConnection: () => undefined,
  })
  await listener.close()
  const error = await rejectionOf(
    systemTransport.connect({ host: '127.0.0.1', port: listener.port, timeoutMs }),
  )
  expect(isStreamsError(error, 'BROKER_UNREACHABLE')).toBe(true)
  expect(String(error)).toContain(`127.0.0.1:${listener.port}`)
})

test('an aborted attempt ends at once', async () => {
  const controller = new AbortController()
  controller.abort()
  const error = await rejectionOf(
    systemTransport.connect({ host: '127.0.0.1', port: 1, timeoutMs, signal: controller.signal }),
  )
  expect(isStreamsError(error, 'BROKER_UNREACHABLE')).toBe(true)
})

test('a port that is taken is a clear error', async () => {
  const onConnection = (): void => undefined
  await using first = await systemTransport.listen({ host: '127.0.0.1', port: 0, onConnection })
  const error = await rejectionOf(
    systemTransport.listen({ host: '127.0.0.1', port: first.port, onConnection }),
  )
  expect(isStreamsError(error, 'ADDRESS_IN_USE')).toBe(true)
})

test('closing a listener ends its connections', async () => {
  const accepted: Connection[] = []
  const listener = await systemTransport.listen({
    host: '127.0.0.1',
    port: 0,
    onConnection: (connection) => accepted.push(connection),
  })
  const client = await systemTransport.connect({
    host: listener.host,
    port: listener.port,
    timeoutMs,
  })
  const closed = new Promise<void>((resolve) => {
    client.onClose = () => resolve()
  })
  client.onData = () => undefined
  await listener.close()
  await expect(closed).resolves.toBeUndefined()
})

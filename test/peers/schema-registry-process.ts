/** The process of a {@link SchemaRegistryPeer}: an HTTP server over what the registry holds. */
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { SchemaRegistryContents } from './schema-registry-contents.ts'
import type { Fault, PeerOptions, SeenRequest } from './schema-registry.ts'

const { authorization, firstId, tls } = JSON.parse(process.argv[2] ?? '') as PeerOptions
const contents = new SchemaRegistryContents(firstId)
let faults: Fault[] = []
let seen: SeenRequest[] = []

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  let body = ''
  for await (const part of request) body += String(part)
  const { method = '', url = '', headers } = request
  seen.push({ method, path: url, headers: { ...headers } as Record<string, string>, body })
  const fault = faults.shift()
  if (fault !== undefined) {
    apply(fault, response)
    return
  }
  if (authorization !== undefined && headers.authorization !== authorization) {
    const message = `Unauthorized: ${headers.authorization}`
    send(response, 401, { error_code: 40101, message })
    return
  }
  const reply = contents.reply(method, new URL(url, 'http://registry'), body)
  send(response, reply.status, reply.body)
}

function apply(fault: Fault, response: ServerResponse): void {
  if (fault === 'hang') return
  if (fault === 'cut') {
    response.writeHead(200, { 'content-length': 1000 })
    response.write('{"schema":')
    response.flushHeaders()
    setImmediate(() => response.destroy())
    return
  }
  if (fault === 'drop') {
    response.destroy()
    return
  }
  response.writeHead(fault.status, fault.headers)
  response.end(fault.text)
}

function send(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/vnd.schemaregistry.v1+json' })
  response.end(JSON.stringify(body))
}

const listener: RequestListener = (request, response) => {
  void serve(request, response)
}
const server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener)

process.on('message', ({ faults: next }: { faults?: Fault[] }) => {
  if (next !== undefined) faults = next
  process.send?.({ seen })
  seen = []
})

// Whoever started it is gone.
process.on('disconnect', () => process.exit())

server.listen(0, '127.0.0.1', () => {
  process.send?.({ port: (server.address() as AddressInfo).port })
})

/**
 * The thread that talks HTTP with a schema registry. It exists so that another thread can wait for an
 * answer without an event loop: that one sleeps on a flag, this one posts the answer and raises the flag.
 *
 *     asking thread                         this thread
 *     postMessage(request, port, flag) -->  HTTP request
 *     Atomics.wait(flag)                    ...
 *     receiveMessageOnPort(port)       <--  port.postMessage(answer), Atomics.notify(flag)
 *
 * This file is JavaScript because Node starts it as it is, from the sources as well as from dist/.
 */
import { Agent, request as requestPlain } from 'node:http'
import { Agent as TlsAgent, request as requestTls } from 'node:https'
import { parentPort, workerData } from 'node:worker_threads'

/** @typedef {import('./exchange.ts').RegistryAnswer} RegistryAnswer */
/** @typedef {import('./http-exchange.ts').WorkerRequest} WorkerRequest */
/** @typedef {import('./http-exchange.ts').WorkerSettings} WorkerSettings */

/** Bytes of an answer; the largest schemas have some hundred thousand. */
const answerBytesMax = 16 * 1024 * 1024

/** Connections to a server at a time. */
const connectionsMax = 8

const { headers, tls } = /** @type {WorkerSettings} */ (workerData)
const agent = new Agent({ keepAlive: true, maxSockets: connectionsMax })
const tlsOptions = /** @type {import('node:tls').SecureContextOptions} */ (tls)
const tlsAgent = new TlsAgent({ ...tlsOptions, keepAlive: true, maxSockets: connectionsMax })

parentPort?.on('message', (/** @type {WorkerRequest} */ request) => {
  ask(request, (answer) => {
    // The answer first: whoever sees the flag takes it at once.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of this process
    request.port.postMessage(answer)
    Atomics.store(request.flag, 0, 1)
    Atomics.notify(request.flag, 0)
    request.port.close()
  })
})

/**
 * @param {WorkerRequest} request
 * @param {(answer: RegistryAnswer) => void} settle
 */
function ask(request, settle) {
  const { server, method, path, body, timeoutMs } = request
  let isSettled = false
  /** @type {(answer: RegistryAnswer) => void} */
  const finish = (answer) => {
    if (isSettled) return
    isSettled = true
    clearTimeout(timer)
    settle(answer)
  }
  const isTls = server.startsWith('https:')
  const options = {
    method,
    agent: isTls ? tlsAgent : agent,
    headers:
      body === undefined ? headers : { ...headers, 'content-length': Buffer.byteLength(body) },
  }
  /** @type {import('node:http').ClientRequest} */
  let call
  const timer = setTimeout(() => {
    finish({ failure: `no answer within ${timeoutMs} ms` })
    call.destroy()
  }, timeoutMs)

  const send = () => {
    call = (isTls ? requestTls : requestPlain)(`${server}${path}`, options)
    call.on('response', (response) => receive(response, finish))
    call.on('error', (error) => {
      const { code } = /** @type {NodeJS.ErrnoException} */ (error)
      // The server ended an idle connection in the moment in which it was taken for this request.
      if (call.reusedSocket && code === 'ECONNRESET' && !isSettled) send()
      else finish({ failure: reasonOf(error) })
    })
    call.end(body)
  }
  try {
    send()
  } catch (error) {
    finish({ failure: reasonOf(error) })
  }
}

/**
 * @param {import('node:http').IncomingMessage} response
 * @param {(answer: RegistryAnswer) => void} finish
 */
function receive(response, finish) {
  /** @type {Buffer[]} */
  const parts = []
  let size = 0
  response.on('data', (/** @type {Buffer} */ part) => {
    parts.push(part)
    size += part.length
    if (size <= answerBytesMax) return
    finish({ failure: `its answer has more than ${answerBytesMax} bytes` })
    response.destroy()
  })
  response.on('error', (error) => finish({ failure: reasonOf(error) }))
  response.on('close', () => {
    if (!response.complete) finish({ failure: 'its answer was cut off' })
    else finish({ status: response.statusCode ?? 0, text: Buffer.concat(parts).toString() })
  })
}

/**
 * What several attempts at the addresses of one name failed with has no message of its own.
 *
 * @param {unknown} error
 * @returns {string}
 */
function reasonOf(error) {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join(', ')
  return error instanceof Error ? error.message : String(error)
}

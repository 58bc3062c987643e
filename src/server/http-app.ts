import { METHODS } from 'node:http'
import type { Socket } from 'node:net'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import {
  fastify,
  type FastifyError,
  type FastifyInstance,
  type FastifyReply,
  type FastifyRequest,
} from 'fastify'
import { StreamsError, isStreamsError } from '../errors.ts'
import { keyBytesMax } from '../query/request.ts'
import { ClientConnection, unansweredRequestsMax } from './client-connection.ts'
import type { HttpSubject } from './instance.ts'
import { refuseConnect, refuseMalformed } from './malformed-request.ts'
import { replyProblem } from './problem-reply.ts'
import { noParameters, validatorCompiler } from './query-parameters.ts'
import { healthRoutes } from './routes/health.ts'
import { keyRoutes } from './routes/keys.ts'
import { metadataRoutes } from './routes/metadata.ts'
import { metricsRoutes } from './routes/metrics.ts'
import { storeRoutes } from './routes/stores.ts'
import type { TypedApp } from './typed-app.ts'

/** A byte of a key takes up to three characters in a URL. */
const pathCharactersMax = 3 * keyBytesMax

/** Bytes of request line and headers together: room for the longest key and its company. */
const headerBytesMax = pathCharactersMax + 16 * 1024

/** Methods that HTTP has and these routes have not. CONNECT is for proxies and comes to no route. */
const otherMethods = METHODS.filter((method) => !['GET', 'HEAD', 'CONNECT'].includes(method))

/** Makes the HTTP service of a subject; it listens when the caller says so. */
export function createHttpApp(subject: HttpSubject): TypedApp {
  const app = fastify({
    return503OnClosing: false,
    http: { maxHeaderSize: headerBytesMax },
    routerOptions: { maxParamLength: pathCharactersMax },
    frameworkErrors: (error, request, reply) => {
      replyProblem(subject, reply, faultOf(error, request))
    },
    clientErrorHandler: (error, socket) => refuseMalformed(error, socket, headerBytesMax),
  })
  app.server.on('connect', (_request, socket) => refuseConnect(socket as Socket))
  app.setValidatorCompiler(validatorCompiler)
  app.setErrorHandler((error: FastifyError, request, reply) =>
    replyProblem(subject, reply, faultOf(error, request)),
  )
  app.addHook('onRequest', async (request, reply) => {
    assertAdmitted(request, reply)
    // Here and not by a handler, which would come only after the body was read.
    if (request.is404) throw new StreamsError('ROUTE_UNKNOWN', { path: pathOf(request) })
    assertQueryDecodable(request)
  })
  for (const method of otherMethods) {
    if (!app.supportedMethods.includes(method)) app.addHttpMethod(method)
  }
  const urls = routeUrls(app)
  const typed: TypedApp = app.withTypeProvider<TypeBoxTypeProvider>()
  storeRoutes(typed, subject)
  keyRoutes(typed, subject)
  metadataRoutes(typed, subject)
  healthRoutes(typed, subject)
  metricsRoutes(typed, subject)
  for (const url of urls()) refuseOtherMethods(app, subject, url)
  return typed
}

/**
 * Remembers the routes that are added from here on. Those of the API take no parameters but those that
 * they name: a misspelled one would otherwise be a question that nobody asked. Probes and scrapers
 * may send what they like.
 */
function routeUrls(app: FastifyInstance): () => ReadonlySet<string> {
  const urls = new Set<string>()
  app.addHook('onRoute', (route) => {
    urls.add(route.url)
    if (route.url.startsWith('/v1/')) route.schema = { querystring: noParameters, ...route.schema }
  })
  return () => new Set(urls)
}

function refuseOtherMethods(app: FastifyInstance, subject: HttpSubject, url: string): void {
  app.route({
    method: otherMethods,
    url,
    // The body is of no interest, whatever it is: refused before it is read.
    onRequest: (request, reply) => {
      const context = { path: pathOf(request), method: request.method }
      reply.header('allow', 'GET, HEAD')
      replyProblem(subject, reply, new StreamsError('METHOD_NOT_ALLOWED', context))
    },
    handler: () => undefined,
  })
}

function pathOf(request: FastifyRequest): string {
  return request.raw.url?.split('?', 1)[0] ?? ''
}

/** What is refused ends the connection: behind it there may be thousands more. */
function assertAdmitted(request: FastifyRequest, reply: FastifyReply): void {
  if (ClientConnection.of(request.raw.socket).admit(reply.raw)) return
  reply.header('connection', 'close')
  throw new StreamsError('TOO_MANY_REQUESTS', { limit: unansweredRequestsMax })
}

/** The parser of query strings leaves a broken escape as it is, and would look for the wrong key. */
function assertQueryDecodable(request: FastifyRequest): void {
  const url = request.raw.url ?? ''
  const start = url.indexOf('?')
  if (start < 0) return
  try {
    decodeURIComponent(url.slice(start + 1))
  } catch (error) {
    const detail = 'the query string has an escape that is not UTF-8'
    throw new StreamsError('QUERY_INVALID', { detail }, { cause: error })
  }
}

/** What a request met, as an error of ours where the request is to blame. */
function faultOf(error: FastifyError, request: FastifyRequest): unknown {
  if (isStreamsError(error)) return error
  if (error.code === 'FST_ERR_BAD_URL') {
    const detail = 'the path has an escape that is not UTF-8'
    return new StreamsError('QUERY_INVALID', { detail }, { cause: error })
  }
  if (error.code === 'FST_ERR_MAX_PARAM_LENGTH') {
    const bytes = pathOf(request).length
    return new StreamsError('KEY_TOO_LONG', { bytes, limit: keyBytesMax }, { cause: error })
  }
  if (error.validation !== undefined) {
    const detail = validationDetail(error.validation)
    return new StreamsError('QUERY_INVALID', { detail }, { cause: error })
  }
  if (error.statusCode !== undefined && error.statusCode < 500) {
    return new StreamsError('REQUEST_MALFORMED', { detail: error.message }, { cause: error })
  }
  return error
}

function validationDetail(faults: NonNullable<FastifyError['validation']>): string {
  const parts = faults.map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`)
  return [...new Set(parts)].join('; ')
}

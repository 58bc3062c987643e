import { TypeBoxValidatorCompiler, type TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import { fastify, type FastifyError, type FastifyInstance, type FastifyRequest } from 'fastify'
import { StreamsError, isStreamsError } from '../errors.ts'
import { keyBytesMax } from '../query/request.ts'
import type { HttpSubject } from './instance.ts'
import { problemContentType, problemOf, problemText } from './problem.ts'
import { replyProblem } from './problem-reply.ts'
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

/** Methods that HTTP has and these routes have not. */
const otherMethods = ['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Makes the HTTP service of a subject; it listens when the caller says so. */
export function createHttpApp(subject: HttpSubject): TypedApp {
  const app = fastify({
    return503OnClosing: false,
    http: { maxHeaderSize: headerBytesMax },
    routerOptions: { maxParamLength: pathCharactersMax },
    frameworkErrors: (error, request, reply) => {
      replyProblem(subject, reply, faultOf(error, request))
    },
    clientErrorHandler: (error, socket) => {
      if (socket.writable) socket.end(malformedAnswer(error.code))
      else socket.destroy()
    },
  })
  app.setValidatorCompiler(TypeBoxValidatorCompiler)
  app.setErrorHandler((error: FastifyError, request, reply) =>
    replyProblem(subject, reply, faultOf(error, request)),
  )
  app.setNotFoundHandler((request, reply) =>
    replyProblem(subject, reply, new StreamsError('ROUTE_UNKNOWN', { path: pathOf(request) })),
  )
  app.addHook('onRequest', async (request) => assertQueryDecodable(request))
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

/** Remembers the routes that are added from here on. */
function routeUrls(app: FastifyInstance): () => ReadonlySet<string> {
  const urls = new Set<string>()
  app.addHook('onRoute', ({ url }) => {
    urls.add(url)
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
  const parts = faults.map(({ instancePath, message, params }) => {
    const unknownNames = params['additionalProperties']
    if (Array.isArray(unknownNames)) return `there is no parameter ${unknownNames.join(', ')}`
    const name = instancePath.replace(/^\//, '')
    return name === '' ? (message ?? '') : `${name} ${message ?? ''}`
  })
  return [...new Set(parts)].join('; ')
}

/** Bytes that are no request never reach a route: the answer is written by hand. */
function malformedAnswer(code: string): string {
  const detail =
    code === 'HPE_HEADER_OVERFLOW'
      ? `request line and headers have more than ${headerBytesMax} bytes`
      : 'the bytes are not HTTP'
  const body = problemText(problemOf(new StreamsError('REQUEST_MALFORMED', { detail })))
  return [
    'HTTP/1.1 400 Bad Request',
    `Content-Type: ${problemContentType}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
    '',
    body,
  ].join('\r\n')
}

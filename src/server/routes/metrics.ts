import { prometheusContentType, renderPrometheus } from '../../metrics/prometheus.ts'
import type { HttpSubject } from '../instance.ts'
import type { TypedApp } from '../typed-app.ts'

/** Upper bounds in seconds for what takes from a tenth of a millisecond to ten seconds. */
const latencyBoundsSeconds = [
  0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10,
]

/** `/metrics`, and the counts of the service's own requests in it. */
export function metricsRoutes(app: TypedApp, subject: HttpSubject): void {
  app.get('/metrics', (_request, reply) => {
    const families = subject.instance?.streams.metrics.registry.families() ?? []
    return reply.header('content-type', prometheusContentType).send(renderPrometheus(families))
  })

  app.addHook('onResponse', async (request, reply) => {
    const registry = subject.instance?.streams.metrics.registry
    if (registry === undefined) return
    // The pattern, never the path: each label value is a series for ever.
    const route = request.routeOptions.url ?? 'unknown'
    registry
      .counter('millpond_http_requests_total', 'Requests that were answered.', {
        route,
        status: String(reply.statusCode),
      })
      .add(1)
    registry
      .histogram(
        'millpond_http_request_seconds',
        'Time from the head of a request to the end of its answer.',
        latencyBoundsSeconds,
        { route },
      )
      .observe(reply.elapsedTime / 1000)
  })
}

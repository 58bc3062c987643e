import { ManualClock } from '../../src/base/manual-clock.ts'
import type { LocalTask } from '../../src/kafka-streams.ts'
import { StreamsMetrics } from '../../src/metrics/streams-metrics.ts'
import { QueryRouter, type QueryPeers } from '../../src/query/router.ts'
import type { StreamsState } from '../../src/runtime/streams-state.ts'
import { EventLoopWatch } from '../../src/server/event-loop-watch.ts'
import { Exposure, type Expose } from '../../src/server/exposure.ts'
import { createHttpApp } from '../../src/server/http-app.ts'
import type { HttpSubject } from '../../src/server/instance.ts'
import type { TypedApp } from '../../src/server/typed-app.ts'
import type { AnyStore } from '../../src/store/descriptor.ts'
import { QueryInstance } from './query-instance.ts'

/** Members of bodies, of whatever route. */
export interface HttpBody {
  readonly key?: unknown
  readonly value?: unknown
  readonly rows: readonly { readonly key: string }[]
  readonly cursor?: unknown
  readonly meta?: unknown
  readonly code?: string
  readonly context?: unknown
  readonly detail?: string
  readonly state?: string
}

export interface HttpAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, unknown>>
  readonly body: HttpBody
  readonly text: string
}

const noBody: HttpBody = { rows: [] }

/** An instance that is alone: whoever is asked over the wire is not there. */
const noPeers: QueryPeers = {
  get: () => Promise.reject(new Error('nobody is asked')),
  page: () => Promise.reject(new Error('nobody is asked')),
  count: () => Promise.reject(new Error('nobody is asked')),
}

/** The HTTP service of an instance that holds all three partitions of one store; no port is open. */
export class HttpInstance implements AsyncDisposable {
  readonly clock = new ManualClock()
  readonly target: QueryInstance
  readonly metrics = new StreamsMetrics()
  readonly streams = {
    state: 'running' as StreamsState,
    tasks: [] as LocalTask[],
    metrics: this.metrics,
    localTasks(): LocalTask[] {
      return this.tasks
    },
  }
  readonly faults: unknown[] = []
  readonly subject: { -readonly [K in keyof HttpSubject]: HttpSubject[K] }
  readonly app: TypedApp

  constructor(
    store: AnyStore,
    expose: Expose = { [store.name]: { operations: ['get', 'range'] } },
  ) {
    this.target = new QueryInstance(store, 3, [0, 1, 2])
    const self = { host: '127.0.0.1', port: 7070 }
    for (const partition of [0, 1, 2]) this.target.owners.set(partition, self)
    this.subject = {
      instance: {
        target: this.target,
        router: new QueryRouter({ target: this.target, self, peers: noPeers }),
        streams: this.streams,
      },
      exposure: new Exposure(expose),
      loop: new EventLoopWatch(this.clock),
      isDraining: false,
      onFault: (error) => this.faults.push(error),
    }
    this.app = createHttpApp(this.subject)
  }

  async get(url: string, headers: Record<string, string> = {}): Promise<HttpAnswer> {
    const response = await this.app.inject({ method: 'GET', url, headers })
    const isJson = /\/(problem\+)?json;/.test(String(response.headers['content-type']))
    const body = isJson ? response.json<HttpBody>() : noBody
    return { status: response.statusCode, headers: response.headers, body, text: response.body }
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.app.close()
  }
}

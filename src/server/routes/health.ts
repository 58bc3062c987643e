/**
 * Three questions of whoever runs the process, and none of them touches a store: is it alive (else
 * restart it), can it take traffic, has it started. Rebalancing and restoring are alive; a restore
 * of an hour is a started instance that takes no traffic yet.
 */
import { StreamsError } from '../../errors.ts'
import type { LocalTask } from '../../kafka-streams.ts'
import type { HttpSubject } from '../instance.ts'
import { replyProblem } from '../problem-reply.ts'
import type { TypedApp } from '../typed-app.ts'

/** A task that is not caught up, with how far its stores have come. */
interface RestoringTask {
  readonly task: string
  readonly stores: readonly {
    readonly store: string
    readonly offset: number
    /** Null: not known yet. */
    readonly endOffset: number | null
    readonly remaining: number | null
  }[]
}

/** `/livez`, `/readyz`, `/startupz`. */
export function healthRoutes(app: TypedApp, subject: HttpSubject): void {
  app.get('/livez', (_request, reply) => {
    const state = stateOf(subject)
    const { loop } = subject
    if (loop.isStuck) {
      const error = new StreamsError('EVENT_LOOP_STUCK', { delayMs: Math.round(loop.delayMs) })
      return replyProblem(subject, reply, error, { state })
    }
    if (state === 'error' || state === 'not-running') {
      return replyProblem(subject, reply, new StreamsError('STREAMS_STOPPED', { state }), { state })
    }
    return { status: 'alive', state }
  })

  app.get('/readyz', (_request, reply) => {
    const state = stateOf(subject)
    const restoring = restoringTasks(subject)
    const error = notReady(subject, restoring)
    if (error !== undefined) return replyProblem(subject, reply, error, { state, restoring })
    return { status: 'ready', state, restoring }
  })

  app.get('/startupz', (_request, reply) => {
    const state = stateOf(subject)
    const restoring = restoringTasks(subject)
    const error = notStarted(subject)
    if (error !== undefined) return replyProblem(subject, reply, error, { state, restoring })
    return { status: 'started', state, restoring }
  })
}

function stateOf({ instance }: HttpSubject): string {
  return instance?.streams.state ?? 'created'
}

/**
 * Started: in the group, with tasks assigned, whether or not they are restored; or on the way there,
 * with global stores that are restored first.
 */
function notStarted(subject: HttpSubject): StreamsError | undefined {
  const state = stateOf(subject)
  switch (state) {
    case 'created':
      return new StreamsError('STREAMS_NOT_STARTED')
    case 'running':
      return undefined
    case 'rebalancing':
      return subject.instance?.target.hostsKnown === true || keepsGlobalStores(subject)
        ? undefined
        : new StreamsError('STREAMS_REBALANCING')
    default:
      return new StreamsError('STREAMS_STOPPED', { state })
  }
}

function keepsGlobalStores({ instance }: HttpSubject): boolean {
  return instance?.streams.localTasks().some(({ role }) => role === 'global') === true
}

function notReady(
  subject: HttpSubject,
  restoring: readonly RestoringTask[],
): StreamsError | undefined {
  if (subject.isDraining) return new StreamsError('STREAMS_STOPPED', { state: 'closing' })
  const unstarted = notStarted(subject)
  if (unstarted !== undefined) return unstarted
  if (restoring.length > 0) {
    const store = restoring.flatMap(({ stores }) => stores.map(({ store }) => store))[0]
    const detail = `${restoring.length} tasks restore their state`
    return new StreamsError('STORE_NOT_AVAILABLE', { store, detail })
  }
  const isReady = stateOf(subject) === 'running' && subject.instance?.target.hostsKnown === true
  return isReady ? undefined : new StreamsError('STREAMS_REBALANCING')
}

/** Local tasks that lag behind their changelogs. One without records lags by nothing. */
function restoringTasks({ instance }: HttpSubject): RestoringTask[] {
  const tasks = instance?.streams.localTasks() ?? []
  return tasks
    .filter(({ state }) => state === 'restoring')
    .map(({ id, restoring }) => ({ task: id, stores: restoring.map(progressOf) }))
}

function progressOf({
  store,
  offset,
  endOffset,
}: LocalTask['restoring'][number]): RestoringTask['stores'][number] {
  const remaining = endOffset === undefined ? null : Math.max(0, endOffset - offset)
  return { store, offset, endOffset: endOffset ?? null, remaining }
}

import { yieldTurn } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import { StreamsError, isStreamsError, messageOf } from '../errors.ts'
import type { GroupMembership, HostMap, MembershipHandlers, TaskSet } from '../group/membership.ts'
import { sortedTaskIds } from '../group/task-ids.ts'
import type { Histogram } from '../metrics/registry.ts'
import type { TaskId } from '../processor/record-metadata.ts'
import type { TaskManager } from '../task/task-manager.ts'
import type { Topology } from '../topology/topology.ts'
import type { RestoreProgress } from './changelog-reader.ts'
import type { StandbyUpdate } from './standby-reader.ts'
import type { StoreLags } from './store-lags.ts'
import { isPassingDelivery } from './passing-delivery.ts'
import { RepartitionPurge } from './repartition-purge.ts'
import { WakeUp } from './wake-up.ts'
import { WorkerCommit, type CommitParts } from './worker-commit.ts'
import { withoutActive, type WorkerAssignment } from './worker-assignment.ts'
import { WorkerJobs } from './worker-jobs.ts'
import { createMembership, type WorkerMembership } from './worker-membership.ts'
import { WorkerTasks, type WorkerParts } from './worker-tasks.ts'
import { WorkerTopics } from './worker-topics.ts'

/** How long the loop works at one thing before it looks at the next: restore, process, write behind. */
const sliceMs = 4

/** The same for standbys: they have time. */
const standbySliceMs = 2

/** The loop looks around at least this often when nothing wakes it: for wall-clock punctuations. */
const idleMsMax = 100

/** Why the other waits of a rest end: without a reason, each would make an exception with its stack. */
const restIsOver = new Error('a rest of the worker is over')

/** Upper bounds, in seconds, of the time between two breaths of the event loop. */
const turnBoundsSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5]

/** Hears of a worker, one call at a time. */
export interface WorkerListener {
  /** `running`: it has its tasks, and all of them are restored. */
  onStatus(status: 'rebalancing' | 'running'): void
  /** Tasks have come or gone. */
  onTasks(): void
  onRestore(progress: RestoreProgress): void
  onStandbyUpdate(update: StandbyUpdate): void
  /** Which instance holds which tasks, after each rebalance. */
  onHosts(hosts: HostMap): void
  /** It cannot go on, and gives up its tasks; or it ends, and could not commit what it has done. */
  onFailure(error: Error): void
}

export interface StreamWorkerOptions extends WorkerParts {
  readonly listener: WorkerListener
}

/**
 * The loop that moves records: from the fetcher into the tasks, through the tasks, into the producer,
 * and now and then a commit. Java's StreamThread.
 *
 *     job of the membership → fetched records → restore → process → standbys → write behind → commit → breathe
 *
 * Nothing acts on the tasks but this loop: what the membership wants is queued and has its turn. The
 * event loop breathes after each round, so that heartbeats and queries stay live.
 */
export class StreamWorker implements MembershipHandlers {
  readonly #options: StreamWorkerOptions
  readonly #log: Log
  readonly #topics: WorkerTopics
  readonly #member: WorkerMembership
  readonly #membership: GroupMembership
  readonly #tasks: WorkerTasks
  readonly #commit: WorkerCommit
  readonly #purge: RepartitionPurge
  readonly #turnSeconds: Histogram
  readonly #wakeUp = new WakeUp()
  readonly #jobs = new WorkerJobs(() => this.#wakeUp.notify())
  /** Undefined: none, or it was lost. */
  #assignment: WorkerAssignment | undefined
  #isPaused = false
  /** A commit is due, and waits for what is on its way in the tasks. */
  #isDraining = false
  /** The member was replaced: nothing may be done until it has given up its tasks. */
  #isFenced = false
  /** The group was not heard of for so long that others may have the tasks. */
  #isCutOff = false
  #isStopping = false
  #isEnded = false
  #failure: Error | undefined
  #done: Promise<void> = Promise.resolve()

  constructor(options: StreamWorkerOptions) {
    const { topology, config, ports, client, metrics, processId } = options
    const { applicationId, log, deadLetterQueueTopic } = config
    const { clock } = ports
    const letters = deadLetterQueueTopic === undefined ? [] : [deadLetterQueueTopic]
    const topics = new WorkerTopics(topology, applicationId, letters)
    this.#options = options
    this.#log = log
    this.#topics = topics
    this.#tasks = new WorkerTasks({
      ...options,
      topics,
      onRestore: (progress) => options.listener.onRestore(progress),
      onStandbyUpdate: (update) => options.listener.onStandbyUpdate(update),
      wake: () => this.#wakeUp.notify(),
      onFree: () => this.#openFreed(),
    })
    this.#member = createMembership({
      config,
      ports,
      client,
      topology,
      topics: topics.sources,
      processId,
      progress: () => this.#tasks.progress(),
    })
    this.#membership = this.#member.membership
    const membership = this.#membership
    this.#commit = new WorkerCommit({
      client,
      clock,
      metrics,
      membership,
      intervalMs: config.commitInterval,
    })
    const isRepartition = (topic: string): boolean => topics.isRepartition(topic)
    this.#purge = new RepartitionPurge({ client, clock, log, isRepartition })
    this.#turnSeconds = metrics.registry.histogram(
      'millpond_worker_turn_seconds',
      'Time that the worker keeps the event loop before it breathes.',
      turnBoundsSeconds,
    )
  }

  /** With the topics that its patterns match. */
  get topology(): Topology {
    return this.#topics.topology
  }

  get tasks(): TaskManager {
    return this.#tasks.manager
  }

  /** True: others may hold the tasks, so that nobody is to be answered as by their owner. */
  get isCutOff(): boolean {
    return this.#isCutOff
  }

  /** So many workers share the memory for record caches and restores. */
  shareMemory(workers: number): void {
    this.#tasks.shareMemory(workers)
  }

  /** How far the stores of its tasks are. */
  get lags(): StoreLags {
    return this.#tasks.lags
  }

  /** Joins the group and begins to work. */
  start(): void {
    this.#membership.start(this)
    this.#done = this.#run()
  }

  /** Resolves when it has ended, by `stop` or by a failure. Never rejects. */
  get done(): Promise<void> {
    return this.#done
  }

  /** Commits, closes the tasks, leaves the group (or stays silent until the session is over), ends. */
  async stop(mode: 'leave' | 'remain'): Promise<void> {
    this.#isStopping = true
    this.#tasks.stopOpening()
    await this.#membership.stop(mode)
    this.#isEnded = true
    this.#wakeUp.notify()
    await this.#done
  }

  /** All instances are to stop: said as soon as this one leaves the group, where its protocol can. */
  announceStop(): void {
    this.#membership.announceStop?.()
  }

  /** Has all instances of the application stopped, after this worker has ended. Never rejects. */
  stopApplication(reason: string): Promise<void> {
    return this.#member.requestStop(reason)
  }

  pause(): void {
    this.#isPaused = true
  }

  resume(): void {
    this.#isPaused = false
    this.#wakeUp.notify()
  }

  // What the membership asks for.

  onRevoke(active: ReadonlySet<TaskId>): Promise<void> {
    return this.#jobs.add(() => this.#revoke(sortedTaskIds(active)))
  }

  onAssign(target: TaskSet, matchedTopics: readonly string[]): Promise<void> {
    return this.#jobs.add(() => this.#assign({ target, matchedTopics }))
  }

  onLost(reason: Error): Promise<void> {
    return this.#jobs.add(() => this.#lose(reason))
  }

  onCutOff(isCutOff: boolean): void {
    this.#isCutOff = isCutOff
    this.#options.listener.onTasks()
    this.#wakeUp.notify()
  }

  onHosts(hosts: HostMap): void {
    this.#options.listener.onHosts(hosts)
  }

  onFatal(error: Error): void {
    this.#failure ??= error
    this.#wakeUp.notify()
  }

  // The loop.

  async #run(): Promise<void> {
    try {
      while (!this.#isEnded) await this.#turn()
    } catch (error) {
      await this.#die(error)
    }
    await Promise.all([this.#tasks.close(), this.#purge.close()])
  }

  async #turn(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure
    await this.#jobs.runNext(() => this.#settle())
    const { clock } = this.#options.ports
    const startedAt = clock.monotonic()
    if (this.#tasks.hasMoreInputs(startedAt)) this.#readMore()
    const isBusy = this.#work()
    this.#turnSeconds.observe((clock.monotonic() - startedAt) / 1000)
    if (this.#isCommitReady()) await this.#commitAll()
    if (!isBusy) await this.#rest()
    // Also after a rest: one that ends at once has not let the event loop breathe.
    await yieldTurn(clock)
  }

  /**
   * A commit waits for steps whose code answers later, and what is new waits for the commit: otherwise
   * there would always be something on its way.
   */
  #isCommitReady(): boolean {
    const { manager } = this.#tasks
    this.#isDraining = false
    if (this.#isFenced || !this.#commit.isDue(this.#commitParts)) return false
    if (this.#commit.isPending) return true
    try {
      this.#isDraining = !manager.drain()
      return !this.#isDraining
    } catch (error) {
      this.#startAgainOrThrow(error)
      return false
    }
  }

  /** What came and went with a job is for others to hear. */
  #settle(): void {
    this.#tasks.releaseDirectories()
    this.#options.listener.onTasks()
  }

  /** True: there is more to be done at once. */
  #work(): boolean {
    let isBusy = this.#tasks.take()
    if (!this.#isPaused && !this.#isFenced && !this.#isCutOff) {
      if (this.#tasks.restore(this.#deadline())) {
        this.#tellStatus()
        isBusy = true
      }
      if (this.#process()) isBusy = true
    }
    // Also while the member is fenced: what standbys read is nobody else's.
    const deadline = this.#deadline(standbySliceMs)
    if (this.#tasks.followOn(deadline, { isPaused: this.#isPaused })) isBusy = true
    return this.#tasks.manager.writeBehind(this.#deadline()) || isBusy
  }

  #process(): boolean {
    if (this.#commit.isPending || this.#tasks.isBacklogged) return false
    const { manager } = this.#tasks
    const which = this.#isDraining ? 'synchronous' : 'all'
    try {
      const processed = manager.process(this.#deadline(), which)
      return manager.punctuate(which) || processed > 0
    } catch (error) {
      this.#startAgainOrThrow(error)
      return false
    }
  }

  /** Sleeps until something happens. */
  async #rest(): Promise<void> {
    const stop = new AbortController()
    const { signal } = stop
    const commitMs = this.#commit.dueInMs
    const maxMs =
      commitMs > 0 && !this.#commit.isPending ? Math.min(commitMs, idleMsMax) : idleMsMax
    const restoring = !this.#isPaused && !this.#isFenced && !this.#isCutOff
    const waits = this.#tasks.waits({ restoring, maxMs, signal })
    waits.push(this.#wakeUp.wait(signal))
    await Promise.race(waits)
    stop.abort(restIsOver)
    await Promise.all(waits)
  }

  #deadline(ms = sliceMs): number {
    return this.#options.ports.clock.monotonic() + ms
  }

  get #commitParts(): CommitParts {
    const { manager, producer, transactions } = this.#tasks
    return { tasks: manager, producer, transactions }
  }

  async #commitAll(): Promise<void> {
    try {
      const outcome = await this.#commit.run(this.#commitParts)
      if (outcome === 'done') this.#purge.afterCommit(this.#tasks.manager)
    } catch (error) {
      this.#startAgainOrThrow(error)
    }
  }

  /**
   * A member that was replaced, a transaction that was given up, and records that the brokers did not take
   * in time: all mean that what was done since the last commit does not count. Everything begins again from
   * there.
   */
  #startAgainOrThrow(error: unknown): asserts error is StreamsError {
    const mayBegin =
      isStreamsError(error, 'TASK_MIGRATED') ||
      isStreamsError(error, 'TRANSACTION_ABORTED') ||
      isPassingDelivery(error)
    if (!mayBegin) throw error
    this.#isFenced = true
    this.#membership.taskMigrated(error)
  }

  // Jobs.

  /** What could not be opened while another worker had its directory. */
  #openFreed(): void {
    const reopen = async (): Promise<void> => {
      if (this.#assignment !== undefined && !this.#isStopping) await this.#assign(this.#assignment)
    }
    // What ends it ends the worker, in whose loop it runs.
    this.#jobs.add(reopen).catch(() => undefined)
  }

  /** Topics have got partitions, which tasks that are here may have to read. */
  #readMore(): void {
    const update = async (): Promise<void> => {
      try {
        if (!this.#isStopping) await this.#tasks.updateInputs()
      } catch (error) {
        if (!this.#isStopping) throw error
      }
    }
    // What ends it ends the worker, in whose loop it runs.
    this.#jobs.add(update).catch(() => undefined)
  }

  async #assign(assignment: WorkerAssignment): Promise<void> {
    this.#assignment = assignment
    const { target, matchedTopics } = assignment
    const haveTopicsChanged = this.#topics.match(matchedTopics)
    if (haveTopicsChanged) this.#log.info('topics match a pattern', { topics: matchedTopics })
    const held = this.#tasks.manager.tasks
    const added = sortedTaskIds(target.active).filter((id) => !held.has(id))
    this.#tasks.setTarget(target.active)
    if (added.length > 0) this.#options.listener.onStatus('rebalancing')
    await this.#tasks.follow(target.standby, added)
    await this.#open(await this.#tasks.claim(added), haveTopicsChanged)
    this.#tellStatus()
  }

  async #open(ids: readonly TaskId[], haveTopicsChanged: boolean): Promise<void> {
    try {
      await this.#tasks.learnTopics()
      if (haveTopicsChanged) await this.#tasks.updateInputs()
      if (ids.length === 0) return
      await this.#tasks.open(ids)
      this.#log.info('tasks were assigned', { tasks: ids })
    } catch (error) {
      // Interrupted by `stop`, which closes them again.
      if (!this.#isStopping) throw error
    }
  }

  async #revoke(revoked: readonly TaskId[]): Promise<void> {
    const { listener, ports } = this.#options
    const { manager } = this.#tasks
    listener.onStatus('rebalancing')
    this.#assignment = withoutActive(this.#assignment, revoked)
    // Those that `stop` kept from being opened are not there.
    const ids = revoked.filter((id) => manager.tasks.has(id))
    const running = ids.filter((id) => manager.tasks.get(id)?.state === 'running')
    this.#tasks.detach(ids)
    const isClean = await this.#commitRevoked(running)
    if (isClean) {
      while (manager.writeBehind(this.#deadline())) await yieldTurn(ports.clock)
    }
    // Some may stay here as standbys, as the assignment that follows will tell; at the end there is none.
    if (isClean && !this.#isStopping) {
      manager.suspend(ids)
      manager.park(ids)
    } else manager.close(ids, { clean: isClean })
    this.#log.info('tasks were revoked', { tasks: ids, committed: isClean })
  }

  /** False: nothing could be committed any more, and the membership is given up. */
  async #commitRevoked(ids: readonly TaskId[]): Promise<boolean> {
    if (this.#isFenced) return false
    const { manager, transactions } = this.#tasks
    // A transaction holds what all tasks have done, and cannot be committed for some of them.
    const together = transactions === undefined ? ids : [...manager.tasks.keys()]
    try {
      // What is pending is told to the stores as it was prepared: before closing code adds to it.
      if ((await this.#commit.settle(this.#commitParts)) === 'later') throw uncommitted(ids)
      await this.#drain(together)
      manager.suspend(ids)
      // Closing code may forward into steps whose code answers later.
      await this.#drain(together)
      if ((await this.#commit.run(this.#commitParts, together)) === 'done') return true
      throw uncommitted(ids)
    } catch (error) {
      this.#startAgainOrThrow(error)
      this.#tellLoss(error)
      return false
    }
  }

  /** Waits for the steps of these tasks whose code answers later. */
  async #drain(ids: readonly TaskId[]): Promise<void> {
    const { manager } = this.#tasks
    if (manager.drain(ids)) return
    const { clock } = this.#options.ports
    const deadline = clock.monotonic() + this.#options.config.rebalanceTimeout / 2
    while (!manager.drain(ids)) {
      const remainingMs = deadline - clock.monotonic()
      if (remainingMs <= 0) {
        throw new StreamsError('TASK_MIGRATED', {
          task: ids.join(', '),
          detail: 'its asynchronous steps did not end before it was revoked',
        })
      }
      const timer = clock.setTimer(remainingMs, () => this.#wakeUp.notify())
      await this.#wakeUp.wait(new AbortController().signal)
      timer.cancel()
    }
    // The loop may have been meant.
    this.#wakeUp.notify()
  }

  /** Before the end, others begin again where the last commit is. After it, nobody is to think that all was done. */
  #tellLoss(reason: Error): void {
    if (this.#isStopping) this.#options.listener.onFailure(reason)
  }

  async #lose(reason: Error): Promise<void> {
    if (this.#tasks.manager.commitNeeded) this.#tellLoss(reason)
    this.#options.listener.onStatus('rebalancing')
    this.#log.warn('tasks were lost', { reason: reason.message })
    this.#assignment = undefined
    this.#commit.abandon()
    this.#tasks.abandon()
    await this.#tasks.startAnew()
    this.#isFenced = false
  }

  #tellStatus(): void {
    if (this.#tasks.isRestored) this.#options.listener.onStatus('running')
  }

  async #die(cause: unknown): Promise<void> {
    const error = cause instanceof Error ? cause : new Error(messageOf(cause))
    this.#options.listener.onFailure(error)
    await this.#tasks.sendLetters()
    this.#commit.abandon()
    this.#tasks.abandon()
    this.#jobs.end()
    await this.#membership.stop('leave')
  }
}

/**
 * The commit that waits has offsets of these tasks: carried out later, it would take the next owner back
 * to them. So all tasks are given up, and it with them.
 */
function uncommitted(ids: readonly TaskId[]): StreamsError {
  return new StreamsError('TASK_MIGRATED', {
    task: ids.join(', '),
    detail: 'it could not be committed before it was revoked',
  })
}

import { randomInteger, type Random } from '../../src/base/random.ts'
import { messageOf } from '../../src/errors.ts'
import type { VirtualProcess } from '../../src/base/virtual-time.ts'
import type { SimulatedCluster } from '../../src/testing/simulated-cluster.ts'
import type { SimulatedInstance } from '../../src/testing/simulated-instance.ts'
import type { Fault, SimulationPlan } from './plan.ts'

/** How long an instance that ended stays away, at most. */
const awayMsMax = 12_000
/** Longest pause of a process or a connection. */
const silenceMsMax = 20_000
const brokerAwayMsMax = 6_000
/** Calls of its ports within which a process dies inside of something. */
const callsMax = 400
const slowMs = 400
/** An instance has at most so many workers. */
const workersMax = 3

/** Makes things go wrong, and lets them be right again some time later. */
export class FaultInjector {
  readonly #cluster: SimulatedCluster
  readonly #instances: readonly SimulatedInstance[]
  readonly #random: Random
  readonly #onDisturbed: (instance: SimulatedInstance, until: number) => void
  readonly #onFailure: (instance: SimulatedInstance, failure: Error) => void
  readonly #onGrowth: () => void
  readonly #sessionTimeout: number
  readonly #hasWorkers: boolean
  readonly #mixesReleases: boolean
  readonly #guarantee: SimulationPlan['guarantee']
  readonly #director: VirtualProcess
  /** What lets a fault end. */
  readonly #pending = new Set<() => void>()
  /** Instances that are away on purpose, or whose disk fails. */
  readonly #away = new Set<SimulatedInstance>()
  /** Their next commit does not come through. */
  readonly #silenced = new Set<SimulatedInstance>()
  /** Workers that are told to go and still there. */
  readonly #leaving = new WeakMap<SimulatedInstance['streams'], number>()
  #isBrokerAway = false
  #hasEnded = false

  constructor(options: {
    director: VirtualProcess
    cluster: SimulatedCluster
    instances: readonly SimulatedInstance[]
    random: Random
    sessionTimeout: number
    /** Instances have several workers, of which there may be more or less. */
    hasWorkers: boolean
    /** Instances are of this release and of an older one, and change it when they start again. */
    mixesReleases: boolean
    guarantee: SimulationPlan['guarantee']
    onDisturbed: (instance: SimulatedInstance, until: number) => void
    onFailure: (instance: SimulatedInstance, failure: Error) => void
    /** An input is to have more partitions. */
    onGrowth: () => void
  }) {
    this.#director = options.director
    this.#cluster = options.cluster
    this.#instances = options.instances
    this.#random = options.random
    this.#sessionTimeout = options.sessionTimeout
    this.#guarantee = options.guarantee
    this.#hasWorkers = options.hasWorkers
    this.#mixesReleases = options.mixesReleases
    this.#onDisturbed = options.onDisturbed
    this.#onFailure = options.onFailure
    this.#onGrowth = options.onGrowth
  }

  inject(fault: Fault): void {
    const { time, network } = this.#cluster
    const instance = this.#instances[randomInteger(this.#random, this.#instances.length)]
    if (instance === undefined) return
    time.note('simulation', `fault ${fault} at ${instance.name}`)
    switch (fault) {
      case 'kill':
        instance.kill()
        return this.#startLater(instance)
      case 'kill-inside':
        instance.machine.process?.killAfter(1 + randomInteger(this.#random, callsMax))
        return
      case 'stop':
      case 'scale':
        return this.#stop(instance, true)
      case 'stop-silently':
        return this.#stop(instance, false)
      case 'power-off':
        instance.powerOff()
        return this.#startLater(instance)
      case 'pause':
        instance.pause()
        return this.#later(this.#silenceMs(instance), () => instance.resume())
      case 'cut':
        return network.cut(instance.name)
      case 'isolate':
        this.#cluster.isolate(instance.name)
        return this.#later(this.#silenceMs(instance), () => this.#cluster.heal())
      case 'deafen': {
        const isDeaf = this.#random.next() < 0.5
        const [from, to] = isDeaf ? ['broker', instance.name] : [instance.name, 'broker']
        network.block(from, to)
        return this.#later(this.#silenceMs(instance), () => network.unblock(from, to))
      }
      case 'silence-commit':
        this.#silenced.add(instance)
        return
      case 'slow-network':
        network.pace.maxMs = slowMs
        return this.#later(3000, () => {
          network.pace.maxMs = 1
        })
      case 'add-partitions':
        return this.#onGrowth()
      case 'add-worker':
        if (this.#workersOf(instance) > 0 && this.#workersOf(instance) < workersMax)
          instance.streams.addWorker()
        return
      case 'remove-worker':
        if (this.#workersOf(instance) > 1) this.#removeWorker(instance)
        return
      case 'broker-kill':
        return this.#stopBroker(() => this.#cluster.killBroker())
      case 'broker-restart':
        return this.#stopBroker(() => void this.#cluster.stopBroker())
      case 'disk-write':
        instance.machine.disk.failWrite({ after: randomInteger(this.#random, 20) })
        return
      case 'disk-full':
        instance.machine.disk.capacityBytes =
          instance.machine.disk.usedBytes + randomInteger(this.#random, 2000)
        return this.#later(awayMsMax, () => {
          instance.machine.disk.capacityBytes = Infinity
        })
      default:
        return fault satisfies never
    }
  }

  /** A request that ends a transaction, or commits offsets, is under way from this instance. */
  commits(instance: SimulatedInstance): void {
    if (!this.#silenced.delete(instance) || this.#hasEnded) return
    const { network } = this.#cluster
    const isDeaf = this.#random.next() < 0.5
    const [from, to] = isDeaf ? ['broker', instance.name] : [instance.name, 'broker']
    this.#cluster.time.note('simulation', `a commit of ${instance.name} goes astray`)
    network.block(from, to)
    this.#later(this.#silenceMs(instance), () => network.unblock(from, to))
  }

  /** Starts again what has ended by itself: after a while, or `now`. */
  supervise(now?: 'now'): void {
    for (const instance of this.#instances) {
      if (this.#away.has(instance) || !hasEnded(instance)) continue
      const { state, failure } = instance
      // One that was stopped may have failed to commit: then others do its work again.
      if (state === 'error' && failure !== undefined) this.#onFailure(instance, failure)
      if (now === 'now') this.#start(instance)
      else this.#startLater(instance)
    }
  }

  /** All faults end now. */
  end(): void {
    const { network } = this.#cluster
    this.#cluster.heal()
    network.pace.maxMs = 1
    for (const instance of this.#instances) {
      instance.machine.disk.capacityBytes = Infinity
      instance.machine.disk.failWrite({ after: Infinity })
      instance.machine.process?.killAfter(Infinity)
      instance.resume()
    }
    for (const undo of this.#pending) undo()
    this.#hasEnded = true
    this.#cluster.time.note('simulation', 'all faults have ended')
  }

  #startLater(instance: SimulatedInstance): void {
    if (this.#hasEnded) return void this.#away.delete(instance)
    this.#away.add(instance)
    this.#later(this.#random.next() ** 2 * awayMsMax, () => {
      this.#away.delete(instance)
      if (hasEnded(instance)) this.#start(instance)
    })
  }

  /** Where releases change, now and then as another one than before. */
  #start(instance: SimulatedInstance): void {
    if (this.#mixesReleases) instance.release = this.#random.next() < 0.6 ? 'this' : 'older'
    instance.start()
  }

  #stop(instance: SimulatedInstance, leaveGroup: boolean): void {
    if (instance.state === 'gone' || this.#away.has(instance)) return
    this.#away.add(instance)
    // It may tell that it could not commit what it has done: then others do it again.
    const stopped = instance.stop({ leaveGroup }).catch(() => undefined)
    void stopped.then(() => this.#startLater(instance))
  }

  /** 0: none may be added or removed. */
  #workersOf(instance: SimulatedInstance): number {
    const { state, isPaused } = instance
    const isUp = (state === 'running' || state === 'rebalancing') && !isPaused
    if (!isUp || !this.#hasWorkers) return 0
    const { streams } = instance
    return streams.localWorkers().length - (this.#leaving.get(streams) ?? 0)
  }

  #removeWorker({ name, streams }: SimulatedInstance): void {
    const isLeaving = (change: 1 | -1): void => {
      this.#leaving.set(streams, (this.#leaving.get(streams) ?? 0) + change)
    }
    isLeaving(1)
    const told = streams.removeWorker().then(
      (number) => `worker ${number} is gone`,
      (error: unknown) => `no worker is removed: ${messageOf(error)}`,
    )
    void told.then((text) => {
      isLeaving(-1)
      this.#cluster.time.note(name, text)
    })
  }

  #stopBroker(stop: () => void): void {
    if (this.#isBrokerAway) return
    this.#isBrokerAway = true
    const awayMs = this.#random.next() * brokerAwayMsMax
    for (const instance of this.#instances) this.#disturb(instance, awayMs)
    stop()
    this.#later(awayMs, () => {
      this.#isBrokerAway = false
      void this.#cluster.startBroker()
    })
  }

  #silenceMs(instance: SimulatedInstance): number {
    // At least once, who is silent for longer than its session may write between the records of who has
    // its tasks by then: see plan.ts.
    const mayBeReplaced =
      this.#guarantee === 'exactly-once' || (this.#instances.length === 1 && !this.#hasWorkers)
    const msMax = mayBeReplaced ? silenceMsMax : this.#sessionTimeout / 2
    const ms = this.#random.next() * msMax
    this.#disturb(instance, ms)
    return ms
  }

  /** It hears nothing for so long, and then has a session to find out what it has missed. */
  #disturb(instance: SimulatedInstance, ms: number): void {
    this.#onDisturbed(instance, this.#cluster.time.now + ms + 2 * this.#sessionTimeout)
  }

  #later(ms: number, undo: () => void): void {
    const once = (): void => {
      if (this.#pending.delete(once)) undo()
    }
    this.#pending.add(once)
    this.#director.later(ms, once)
  }
}

function hasEnded({ state }: SimulatedInstance): boolean {
  return state === 'gone' || state === 'error' || state === 'not-running'
}

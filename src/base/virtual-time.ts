import type { Clock, Timer } from './clock.ts'
import { BinaryHeap } from './heap.ts'
import type { Random } from './random.ts'

/** Events that one turn of Node's event loop runs at most. */
const eventsPerTurnMax = 128

/** Looking at the clock costs this much, so that loops with a deadline come to it. Milliseconds. */
const lookMs = 0.002
/** One in so many looks comes after a longer piece of work, or a collection of garbage. */
const longWorkRarity = 400
const longWorkMsMax = 12

/** A turn of the event loop of a process takes up to so many milliseconds. */
const turnMsMax = 0.1
/** Timers are late by up to so many milliseconds. */
const timerLateMsMax = 0.5

/** What the world can do to a process between two events. */
type ProcessState = 'running' | 'paused' | 'dead'

interface VirtualEvent {
  readonly due: number
  /** Of two that are due at the same time the one that was asked for first goes first. */
  readonly order: number
  readonly process: VirtualProcess
  /** Undefined: it was cancelled. */
  run: (() => void) | undefined
}

interface Goal {
  readonly end: number
  readonly isDone: () => boolean
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

/** Hears what happens, in order: for a trace that can be compared and read. */
export type VirtualTrace = (line: string) => void

/**
 * Time that moves from event to event, for a whole cluster in one process. All that happens is in one
 * queue, and one event runs at a time with all the promises that it settles: with the same seed
 * everything happens again in the same order.
 *
 *     schedule → queue → step: the earliest event runs → its promises run → the next
 *
 * `digest` is the fingerprint of all that happened so far. Two runs that differ anywhere have another one.
 */
export class VirtualTime {
  readonly random: Random
  /** Called after each event and its promises: for those who look at everything. */
  watch: (() => void) | undefined
  readonly #trace: VirtualTrace | undefined
  readonly #queue = new BinaryHeap<VirtualEvent>(compareEvents)
  /** What is waited for. */
  readonly #goals: Goal[] = []
  #pumpCount = 0
  #now: number
  #order = 0
  #eventCount = 0
  #processCount = 0
  #digest = 0x811c_9dc5

  /** @param options.start milliseconds since the epoch */
  constructor(options: { random: Random; start: number; trace?: VirtualTrace | undefined }) {
    this.random = options.random
    this.#now = options.start
    this.#trace = options.trace
  }

  /** Milliseconds since the epoch, with fractions. */
  get now(): number {
    return this.#now
  }

  /** How many events have run. */
  get eventCount(): number {
    return this.#eventCount
  }

  /** Fingerprint of all that happened: eight hexadecimal digits. */
  get digest(): string {
    return (this.#digest >>> 0).toString(16).padStart(8, '0')
  }

  /** Begins a process; `host` is the machine on which it runs. */
  process(host: string): VirtualProcess {
    this.#processCount += 1
    return new VirtualProcess(this, host, this.#processCount)
  }

  /** Puts a fact into the trace, and into the fingerprint. */
  note(host: string, fact: string): void {
    for (let at = 0; at < fact.length; at += 1) this.mix(fact.charCodeAt(at))
    this.#trace?.(`${this.#now.toFixed(3)} ${host}: ${fact}`)
  }

  /** Puts a number into the fingerprint. */
  mix(value: number): void {
    this.#digest = Math.imul(this.#digest ^ value, 0x0100_0193)
  }

  /** Puts bytes into the fingerprint. */
  mixBytes(bytes: Uint8Array): void {
    let digest = this.#digest
    for (const byte of bytes) digest = Math.imul(digest ^ byte, 0x0100_0193)
    this.#digest = digest
  }

  /** A process has used its processor for so long: time moves, whatever is due comes later. */
  spend(ms: number): void {
    this.#now += ms
  }

  /** Runs `run` in this process, no sooner than at this time. */
  schedule(process: VirtualProcess, due: number, run: () => void): Timer {
    this.#order += 1
    const event: VirtualEvent = { due, order: this.#order, process, run }
    this.#queue.push(event)
    const cancel = (): void => {
      event.run = undefined
    }
    return { cancel, [Symbol.dispose]: cancel }
  }

  /** Puts events back that waited while their process was paused. */
  putBack(events: readonly VirtualEvent[]): void {
    for (const event of events) this.#queue.push(event)
  }

  /** Runs the next event that is due by `end`. False: there is none, and it is `end`. */
  step(end: number): boolean {
    for (;;) {
      const event = this.#queue.peek()
      if (event === undefined || event.due > end) {
        this.#now = Math.max(this.#now, end)
        return false
      }
      this.#queue.pop()
      if (event.run === undefined || !event.process.takes(event)) continue
      this.#now = Math.max(this.#now, event.due)
      this.#eventCount += 1
      this.mix(event.order)
      this.mix(Math.floor(event.due * 1000))
      event.run()
      return true
    }
  }

  /**
   * Lets events happen until `isDone`, which is asked before each, or until `end`. What an event throws
   * rejects. After each event promises run to their end. Several may wait at a time: events happen as long
   * as anybody waits, and time stands at the end of each that comes to its own.
   */
  run(end: number, isDone: () => boolean = () => false): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#goals.push({ end, isDone, resolve, reject })
      if (this.#goals.length === 1) this.#pump()
    })
  }

  /** Node runs all promises between two immediates, which makes each a turn for a fraction of its cost. */
  #pump(): void {
    this.#pumpCount += 1
    const pump = this.#pumpCount
    const isOver = (): boolean => this.#goals.length === 0 || pump !== this.#pumpCount
    const turn = (): void => {
      if (!isOver()) this.#turn()
    }
    const turns = (): void => {
      if (isOver()) return
      for (let index = 0; index < eventsPerTurnMax; index += 1) setImmediate(turn)
      setImmediate(turns)
    }
    turns()
  }

  #turn(): void {
    try {
      this.watch?.()
      this.#settle(({ isDone }) => isDone())
      if (this.#goals.length === 0) return
      const end = Math.min(...this.#goals.map((goal) => goal.end))
      if (!this.step(end)) this.#settle((goal) => goal.end <= end)
    } catch (error) {
      for (const { reject } of this.#goals.splice(0)) reject(error)
    }
  }

  #settle(isOver: (goal: Goal) => boolean): void {
    for (const goal of this.#goals.filter(isOver)) {
      this.#goals.splice(this.#goals.indexOf(goal), 1)
      goal.resolve()
    }
  }
}

/**
 * One process of a simulated machine, from its start to its death: a new one begins a new life. What it
 * waits for is in the queue of the world; when it is dead nothing of it runs any more, and when it is
 * paused, nothing until it is resumed.
 */
export class VirtualProcess {
  readonly host: string
  /** Tells lives apart, also of one machine. */
  readonly id: number
  readonly clock: Clock
  readonly time: VirtualTime
  readonly #startedAt: number
  readonly #onDeath: (() => void)[] = []
  #state: ProcessState = 'running'
  #waiting: VirtualEvent[] = []
  /** Calls of its ports after which it dies. */
  #callsLeft = Infinity

  constructor(time: VirtualTime, host: string, id: number) {
    this.time = time
    this.host = host
    this.id = id
    this.#startedAt = time.now
    this.clock = {
      now: () => Math.floor(this.#look()),
      monotonic: () => this.#look() - this.#startedAt,
      setTimer: (ms, callback) => {
        const late = time.random.next() * timerLateMsMax
        return this.later(Math.max(0, ms) + late, callback)
      },
      setImmediate: (callback) => {
        this.later(time.random.next() * turnMsMax, callback)
      },
    }
  }

  get state(): ProcessState {
    return this.#state
  }

  get isDead(): boolean {
    return this.#state === 'dead'
  }

  /** Runs in this process, `ms` from now. */
  later(ms: number, run: () => void): Timer {
    return this.at(this.time.now + ms, run)
  }

  /** Runs in this process at that time. Nothing happens when it is dead by then. */
  at(due: number, run: () => void): Timer {
    this.touch()
    return this.time.schedule(this, due, run)
  }

  /** Stops where it is, as by SIGSTOP: what happens meanwhile waits for it. */
  pause(): void {
    if (this.#state === 'running') this.#state = 'paused'
  }

  /** Goes on, with all that has happened meanwhile. */
  resume(): void {
    if (this.#state !== 'paused') return
    this.#state = 'running'
    this.time.putBack(this.#waiting)
    this.#waiting = []
  }

  /** Ends it now. In the middle of an event, the rest of it has no effect on the world. */
  kill(): void {
    if (this.#state === 'dead') return
    this.#state = 'dead'
    this.#waiting = []
    for (const tell of this.#onDeath.splice(0)) tell()
  }

  /** Ends it at the so many-th use of a port from now: in the middle of something. */
  killAfter(calls: number): void {
    this.#callsLeft = calls
  }

  /** Called when it dies. */
  onDeath(tell: () => void): void {
    this.#onDeath.push(tell)
  }

  /** Of the ports: they are being used. */
  touch(): void {
    this.#callsLeft -= 1
    if (this.#callsLeft <= 0) this.kill()
  }

  /** Of the queue: whether this event may run now. */
  takes(event: VirtualEvent): boolean {
    if (this.#state === 'paused') this.#waiting.push(event)
    return this.#state === 'running'
  }

  #look(): number {
    const { time } = this
    const isLong = time.random.next() * longWorkRarity < 1
    time.spend(isLong ? time.random.next() * longWorkMsMax : lookMs)
    return time.now
  }
}

function compareEvents(a: VirtualEvent, b: VirtualEvent): number {
  return a.due - b.due || a.order - b.order
}

import type { Clock, Timer } from './clock.ts'
import type { Log, LogFields, LogLevel } from './log.ts'

/** Milliseconds in which lines of one kind are counted instead of told. */
const intervalMsDefault = 60_000

/** Fields that say why something failed, or for whom: not what failed. */
const circumstances = new Set(['error', 'reason', 'peer', 'stack'])

interface Kind {
  readonly log: Log
  readonly level: 'warn' | 'error'
  readonly message: string
  /** Of the last line that was counted. */
  fields: LogFields | undefined
  /** Lines since the last one that was told. */
  count: number
  /** Until the end of the interval in which it came up. */
  isNew: boolean
}

/**
 * A log for what can fail again and again, such as each attempt to reach a broker that is down. The
 * first warning of its kind is told at once; further ones are counted, and told as one line with their
 * number at the end of each interval. What failed makes the kind; why, and for which client, may
 * differ: the last one stands for all.
 */
export class LimitedLog implements Log, Disposable {
  /** Kinds that are counted at a time; the oldest makes room. */
  static readonly kindsMax = 256
  readonly #log: Log
  readonly #clock: Clock
  readonly #intervalMs: number
  readonly #kinds = new Map<string, Kind>()
  #timer: Timer | undefined
  #isClosed = false

  constructor(log: Log, clock: Clock, { intervalMs = intervalMsDefault } = {}) {
    this.#log = log
    this.#clock = clock
    this.#intervalMs = intervalMs
  }

  debug(message: string, fields?: LogFields): void {
    this.#log.debug(message, fields)
  }

  info(message: string, fields?: LogFields): void {
    this.#log.info(message, fields)
  }

  warn(message: string, fields?: LogFields): void {
    this.#tell(this.#log, 'warn', message, fields)
  }

  error(message: string, fields?: LogFields): void {
    this.#tell(this.#log, 'error', message, fields)
  }

  child(fields: LogFields): Log {
    return this.#child(this.#log.child(fields), fields)
  }

  /** Tells what was counted, and limits no more. Idempotent. */
  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#timer?.cancel()
    for (const kind of this.#kinds.values()) this.#tellCount(kind)
    this.#kinds.clear()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  #child(log: Log, own: LogFields): Log {
    const line =
      (level: 'warn' | 'error') =>
      (message: string, fields?: LogFields): void =>
        this.#tell(log, level, message, fields, own)
    return {
      debug: (message, fields) => log.debug(message, fields),
      info: (message, fields) => log.info(message, fields),
      warn: line('warn'),
      error: line('error'),
      child: (fields) => this.#child(log.child(fields), { ...own, ...fields }),
    }
  }

  #tell(
    log: Log,
    level: 'warn' | 'error',
    message: string,
    fields?: LogFields,
    own?: LogFields,
  ): void {
    if (this.#isClosed) {
      log[level](message, fields)
      return
    }
    const name = nameOf(level, message, { ...own, ...fields })
    const kind = this.#kinds.get(name)
    if (kind !== undefined) {
      kind.count += 1
      kind.fields = fields
      return
    }
    this.#makeRoom()
    this.#kinds.set(name, { log, level, message, fields, count: 0, isNew: true })
    this.#timer ??= this.#clock.setTimer(this.#intervalMs, () => this.#endInterval())
    log[level](message, fields)
  }

  #makeRoom(): void {
    if (this.#kinds.size < LimitedLog.kindsMax) return
    for (const [name, kind] of this.#kinds) {
      this.#kinds.delete(name)
      this.#tellCount(kind)
      return
    }
  }

  #endInterval(): void {
    for (const [name, kind] of this.#kinds) {
      if (kind.count === 0 && !kind.isNew) this.#kinds.delete(name)
      kind.isNew = false
      this.#tellCount(kind)
    }
    this.#timer =
      this.#kinds.size === 0
        ? undefined
        : this.#clock.setTimer(this.#intervalMs, () => this.#endInterval())
  }

  #tellCount(kind: Kind): void {
    const { log, level, message, fields, count } = kind
    if (count === 0) return
    kind.count = 0
    log[level](`${message} (${count} more in the last ${this.#intervalMs / 1000} s)`, fields)
  }
}

function nameOf(level: LogLevel, message: string, fields: LogFields): string {
  const facts = Object.entries(fields).filter(([name]) => !circumstances.has(name))
  return [level, message, ...facts.map(([name, value]) => `${name}=${String(value)}`)].join('\n')
}

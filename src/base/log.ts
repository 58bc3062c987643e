/** How loud a line is; `silent` as a threshold prints nothing. */
export type LogLevel = 'debug' | 'info' | 'warn' | 'error'

/** Facts beside the message of one line. */
export type LogFields = Readonly<Record<string, unknown>>

/** Where the engine tells what it does. */
export interface Log {
  /** What helps to find a fault. */
  debug(message: string, fields?: LogFields): void
  /** What changes. */
  info(message: string, fields?: LogFields): void
  /** What goes wrong and is dealt with. */
  warn(message: string, fields?: LogFields): void
  /** What ends an instance. */
  error(message: string, fields?: LogFields): void
  /** The same log with fields that every line carries. */
  child(fields: LogFields): Log
}

/** Takes one line. */
export type LogSink = (level: LogLevel, message: string, fields: LogFields) => void

const order: Readonly<Record<LogLevel | 'silent', number>> = {
  debug: 0,
  info: 1,
  warn: 2,
  error: 3,
  silent: 4,
}

/**
 * A log that writes lines of at least `level` (default `info`) to the sink: makes a logger of one
 * function.
 *
 * @example
 * const logger = createLog((level, message, fields) => send({ level, message, ...fields }))
 */
export function createLog(
  sink: LogSink,
  options: { level?: LogLevel | 'silent'; fields?: LogFields } = {},
): Log {
  const threshold = order[options.level ?? 'info']
  const base = options.fields ?? {}
  const line = (level: LogLevel) => (message: string, fields?: LogFields) => {
    if (order[level] >= threshold) sink(level, message, fields ? { ...base, ...fields } : base)
  }
  return {
    debug: line('debug'),
    info: line('info'),
    warn: line('warn'),
    error: line('error'),
    child: (fields) => createLog(sink, { ...options, fields: { ...base, ...fields } }),
  }
}

/** Drops every line. */
export const silentLog: Log = createLog(() => undefined, { level: 'silent' })

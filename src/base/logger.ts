import { isStreamsError } from '../errors.ts'
import { createLog, type Log, type LogFields, type LogLevel } from './log.ts'
import { shownValue } from './shown-value.ts'

/**
 * What takes the lines that Millpond has to say: `console`, winston, pino and most others are such
 * loggers. It is called with the message, and with the facts of that line where it has any; pino, which
 * wants the facts first, gets them first.
 *
 * @example
 * new KafkaStreams(topology, { applicationId, brokers, logger: console })
 */
export interface Logger {
  /** Each connection and each attempt that failed. */
  debug(message: string, fields?: LogFields): void
  /** Changes of state, assignments, topics that were created. */
  info(message: string, fields?: LogFields): void
  /** What goes wrong and is dealt with. */
  warn(message: string, fields?: LogFields): void
  /** What ends the instance. */
  error(message: string, fields?: LogFields): void
}

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error']

/** True for what has the four methods. */
export function isLogger(given: unknown): given is Logger {
  return levels.every(
    (level) => typeof (given as Record<string, unknown> | null | undefined)?.[level] === 'function',
  )
}

/** The log that hands its lines to a logger, which decides by itself how loud it is. */
export function logOf(logger: Logger): Log {
  const write = isPino(logger) ? writeToPino : writeTo
  return createLog(
    (level, message, fields) => {
      try {
        write(logger, level, message, fields)
      } catch {
        // There is nobody left to tell.
      }
    },
    { level: 'debug' },
  )
}

function writeTo(logger: Logger, level: LogLevel, message: string, fields: LogFields): void {
  if (Object.keys(fields).length === 0) logger[level](message)
  else logger[level](message, fields)
}

function isPino(logger: Logger): boolean {
  return typeof (logger as { bindings?: unknown }).bindings === 'function'
}

function writeToPino(logger: Logger, level: LogLevel, message: string, fields: LogFields): void {
  const pino = logger as unknown as Record<LogLevel, (fields: LogFields, message: string) => void>
  const { error, ...others } = fields
  // The name under which it writes the members of an error.
  pino[level](error instanceof Error ? { ...others, err: error } : fields, message)
}

/** A log for people, one line for each on standard error; `who` speaks. */
export function standardErrorLog(
  who: string,
  level: LogLevel | 'silent',
  clock: { now(): number },
): Log {
  return createLog(
    (loudness, message, fields) => {
      process.stderr.write(`${lineOf(clock.now(), who, loudness, message, fields)}\n`)
    },
    { level },
  )
}

/** `<time> <LEVEL> millpond <who>: <message> <name>=<value> …` */
export function lineOf(
  at: number,
  who: string,
  level: LogLevel,
  message: string,
  fields: LogFields,
): string {
  const facts = Object.entries(fields)
    .filter(([, value]) => value !== undefined)
    .map(([name, value]) => ` ${name}=${factOf(value)}`)
  const head = `${new Date(at).toISOString()} ${level.toUpperCase()} millpond ${who}`
  return oneLine(`${head}: ${message}${facts.join('')}`)
}

function factOf(value: unknown): string {
  // Where a fault of ours came from is all that its line is for; of an error with a code it is no news.
  if (isStreamsError(value)) return JSON.stringify(oneLine(value.message))
  if (value instanceof Error) return JSON.stringify(oneLine(value.stack ?? String(value)))
  if (typeof value === 'string' && /^[^\s"]+$/.test(value)) return value
  return typeof value === 'string' ? JSON.stringify(oneLine(value)) : shownValue(value)
}

function oneLine(text: string): string {
  return text.replaceAll(/\s*[\r\n]\s*/g, ' ')
}

/** Who hears the lines: a logger, or standard error from that level on. */
export type LoggerChoice = Logger | LogLevel | 'silent'

/** A sentence about what is no choice; undefined when it is one. */
export function loggerProblem(given: unknown): string | undefined {
  const names = ['silent', ...levels]
  if (isLogger(given) || names.includes(given as string)) return undefined
  const choices = names.map((name) => `'${name}'`).join(', ')
  return `it must be a logger with the methods ${levels.join(', ')}, such as console, or one of ${choices}, not ${shownValue(given)}`
}

/** The log that was chosen; `who` speaks. */
export function logFrom(choice: LoggerChoice, who: string, clock: { now(): number }): Log {
  return typeof choice === 'string' ? standardErrorLog(who, choice, clock) : logOf(choice)
}

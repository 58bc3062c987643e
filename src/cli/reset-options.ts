import { readFileSync } from 'node:fs'
import { InvalidArgumentError } from 'commander'
import { messageOf } from '../errors.ts'
import type { PartitionKey } from '../client/offsets.ts'
import type { ResetPosition } from '../runtime/reset-position.ts'

/** The options that say where to begin, of which one may be given. */
export interface PositionOptions {
  readonly toEarliest?: boolean
  readonly toLatest?: boolean
  readonly toOffset?: number
  readonly shiftBy?: number
  readonly toDatetime?: number
  readonly byDuration?: number
  readonly fromFile?: ReadonlyMap<PartitionKey, number>
}

/** The position that is asked for: the start of the logs unless told otherwise. */
export function positionOf(options: PositionOptions, nowMs: number): ResetPosition {
  if (options.toLatest === true) return { kind: 'latest' }
  if (options.toOffset !== undefined) return { kind: 'offset', offset: options.toOffset }
  if (options.shiftBy !== undefined) return { kind: 'shift', by: options.shiftBy }
  if (options.toDatetime !== undefined) return { kind: 'time', timestamp: options.toDatetime }
  if (options.byDuration !== undefined)
    return { kind: 'time', timestamp: nowMs - options.byDuration }
  if (options.fromFile !== undefined) return { kind: 'plan', offsets: options.fromFile }
  return { kind: 'earliest' }
}

/** Names with commas between them; the option can be repeated. */
export function parseNames(text: string, before: readonly string[] = []): readonly string[] {
  const names = text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
  if (names.length === 0) throw new InvalidArgumentError('There is no name in it.')
  return [...new Set([...before, ...names])]
}

export function parseOffset(text: string): number {
  return parseInteger(text, { min: 0 })
}

export function parseShift(text: string): number {
  return parseInteger(text, { min: -Number.MAX_SAFE_INTEGER })
}

function parseInteger(text: string, { min }: { min: number }): number {
  const value = /^[+-]?\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(value) && value >= min) return value
  throw new InvalidArgumentError(`It is a whole number, not ${JSON.stringify(text)}.`)
}

const datetimePattern =
  /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,3})?)(Z|[+-]\d{2}(?::?\d{2})?)?$/

/** `YYYY-MM-DDTHH:mm:SS.sss`, in UTC unless a zone follows; milliseconds since 1970. */
export function parseDatetime(text: string): number {
  const match = datetimePattern.exec(text)
  const [, time = '', zone = 'Z'] = match ?? []
  const zoned =
    zone === 'Z'
      ? zone
      : zone.replace(/^(.\d{2}):?(\d{2})?$/, (_, hours, minutes) => `${hours}:${minutes ?? '00'}`)
  const timestamp = match === null ? Number.NaN : Date.parse(time + zoned)
  if (!Number.isNaN(timestamp)) return timestamp
  throw new InvalidArgumentError(
    `It is a time such as 2026-01-31T13:00:00.000, not ${JSON.stringify(text)}.`,
  )
}

const durationPattern = /^P(?:(\d+)D)?(?:T(?=\d)(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,3})?)S)?)?$/

/** `PnDTnHnMnS`; milliseconds. */
export function parseDuration(text: string): number {
  const match = durationPattern.exec(text)
  if (match !== null && text !== 'P') {
    const [days = 0, hours = 0, minutes = 0, seconds = 0] = match
      .slice(1)
      .map((part) => Number(part ?? 0))
    return Math.round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1000)
  }
  throw new InvalidArgumentError(`It is a duration such as P1DT2H30M, not ${JSON.stringify(text)}.`)
}

/** A file with `topic,partition,offset` in each line, as kafka-consumer-groups writes it. */
export function readPlan(path: string): ReadonlyMap<PartitionKey, number> {
  const offsets = new Map<PartitionKey, number>()
  for (const [index, line] of linesOf(path).entries()) {
    if (line.trim() === '') continue
    const match = /^\s*"?([^",]+)"?\s*,\s*(\d{1,9})\s*,\s*(\d{1,16})\s*$/.exec(line)
    if (match === null)
      throw new InvalidArgumentError(
        `Line ${index + 1} of ${path} is not topic,partition,offset: ${JSON.stringify(line)}.`,
      )
    const [, topic = '', partition, offset] = match
    offsets.set(`${topic}-${Number(partition)}`, Number(offset))
  }
  return offsets
}

function linesOf(path: string): string[] {
  try {
    return readFileSync(path, 'utf8').split(/\r?\n/)
  } catch (error) {
    throw new InvalidArgumentError(`The file cannot be read: ${messageOf(error)}.`)
  }
}

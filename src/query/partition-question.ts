/**
 * Questions to one partition of a store of windows, sessions or versions, as data: the same whether the
 * store is in this thread or in another one.
 */
import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { StoreIterator } from '../store/key-value-store.ts'
import type { AnyStoreView } from './query-target.ts'

/** A question for one value. */
export type PointQuestion =
  | { readonly kind: 'window'; readonly key: unknown; readonly start: number }
  | {
      readonly kind: 'session'
      readonly key: unknown
      readonly start: number
      readonly end: number
    }
  | { readonly kind: 'version'; readonly key: unknown; readonly asOf: number | undefined }

/** A question for rows of one key. */
export interface KeyScanQuestion {
  readonly kind: 'windows-of-key' | 'sessions-of-key' | 'versions-of-key'
  readonly key: unknown
  /** Of sessions the earliest end, of the others the earliest time. */
  readonly from: number
  /** Of sessions the latest start. */
  readonly to: number
  readonly reverse: boolean | undefined
}

/** A question for rows of all keys between two. */
export interface RangeQuestion {
  readonly kind: 'windows' | 'sessions'
  readonly from: unknown
  readonly to: unknown
  /** Of windows. */
  readonly timeFrom: number | undefined
  readonly timeTo: number | undefined
  readonly reverse: boolean | undefined
}

/** A question for rows. */
export type ScanQuestion = KeyScanQuestion | RangeQuestion

/** Refuses as a time what is no number: NaN lies before nothing and behind nothing, and finds nothing. */
export function assertTimes(question: PointQuestion | ScanQuestion): void {
  const { kind } = question
  const isOptional = kind === 'version' || kind === 'windows' || kind === 'sessions'
  for (const [name, time] of timesOf(question)) {
    if ((time === undefined && isOptional) || (typeof time === 'number' && !Number.isNaN(time)))
      continue
    const detail = `${name} is a number of milliseconds, not ${shownValue(time)}`
    throw new StreamsError('QUERY_INVALID', { detail })
  }
}

/** The times of a question, as the calls name them. */
function timesOf(question: PointQuestion | ScanQuestion): [string, number | undefined][] {
  switch (question.kind) {
    case 'window':
      return [['windowStart', question.start]]
    case 'session':
      return [
        ['start', question.start],
        ['end', question.end],
      ]
    case 'version':
      return [['asOf', question.asOf]]
    case 'sessions-of-key':
      return [
        ['earliestEnd', question.from],
        ['latestStart', question.to],
      ]
    case 'windows-of-key':
    case 'versions-of-key':
      return [
        ['from', question.from],
        ['to', question.to],
      ]
    case 'windows':
    case 'sessions':
      return [
        ['timeFrom', question.timeFrom],
        ['timeTo', question.timeTo],
      ]
    default:
      return question satisfies never
  }
}

/** What the view gives for one value. */
export function pointOf(view: AnyStoreView, question: PointQuestion): unknown {
  if (question.kind === 'window' && view.kind === 'window') {
    return view.fetch(question.key, question.start)
  }
  if (question.kind === 'session' && view.kind === 'session') {
    return view.fetchSession(question.key, question.start, question.end)
  }
  if (question.kind === 'version' && view.kind === 'versioned') {
    return view.get(question.key, question.asOf)
  }
  throw otherKind(view, question)
}

/** Begins a scan of the view. */
export function scanOf(view: AnyStoreView, question: ScanQuestion): StoreIterator<unknown> {
  const { kind, reverse } = question
  const options = { reverse }
  if (kind === 'windows-of-key' && view.kind === 'window') {
    return view.fetchRange(question.key, question.from, question.to, options)
  }
  if (kind === 'windows' && view.kind === 'window') {
    const { from, to, timeFrom, timeTo } = question
    return view.range({ from, to, timeFrom, timeTo, reverse })
  }
  if (kind === 'sessions-of-key' && view.kind === 'session') {
    return view.findSessions(question.key, question.from, question.to, options)
  }
  if (kind === 'sessions' && view.kind === 'session') {
    return view.range({ from: question.from, to: question.to, reverse })
  }
  if (kind === 'versions-of-key' && view.kind === 'versioned') {
    return view.versions(question.key, question.from, question.to, options)
  }
  throw otherKind(view, question)
}

function otherKind(view: AnyStoreView, { kind }: PointQuestion | ScanQuestion): StreamsError {
  const detail = `a ${view.kind} store has no ${kind}`
  return new StreamsError('QUERY_INVALID', { detail })
}

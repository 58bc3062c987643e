import type { CaseResult, ProducedRow, ScriptEntry } from './case.ts'

/** Where two results differ first, and how, for a person to read. */
export interface Difference {
  /** Differences of one sort have, most likely, one cause. */
  readonly sort: string
  readonly text: string
}

/** `expected` is what Kafka Streams gave, `actual` what Millpond gave. Undefined: they agree. */
export function firstDifference(
  expected: CaseResult,
  actual: CaseResult,
  script: readonly ScriptEntry[] = [],
): Difference | undefined {
  return (
    ofDescriptions(expected.describe, actual.describe) ??
    ofTopics(expected, actual) ??
    ofSteps(expected, actual, script) ??
    ofFailures(expected, actual) ??
    ofStores(expected, actual) ??
    ofDropped(expected, actual)
  )
}

function pair(kafkaStreams: string, millpond: string): string {
  return `  Kafka Streams: ${kafkaStreams}\n  Millpond:      ${millpond}`
}

function ofFailures(expected: CaseResult, actual: CaseResult): Difference | undefined {
  if (expected.failure === actual.failure) return undefined
  const tell = ({ failure, message }: CaseResult): string =>
    failure === undefined ? 'runs' : `fails at ${failure}: ${message}`
  // Failures of one place and one kind of error, whatever it says.
  const sortOf = ({ failure = 'none', message = '' }: CaseResult): string =>
    `${failure.split(' ')[0]} ${message.split(/[ :]/)[0]}`
  return {
    sort: `failure: ${sortOf(expected)}, ${sortOf(actual)}`,
    text: pair(tell(expected), tell(actual)),
  }
}

/** The first line that differs. */
function ofDescriptions(
  expected: string | undefined,
  actual: string | undefined,
): Difference | undefined {
  if (expected === actual) return undefined
  // One side did not come so far: it failed, which says more.
  if (expected === undefined || actual === undefined) return undefined
  const theirs = expected.split('\n')
  const ours = actual.split('\n')
  const line = theirs.findIndex((text, index) => text !== ours[index])
  const at = line === -1 ? theirs.length : line
  const text = `describe(), line ${at + 1}:\n${pair(theirs[at] ?? 'ends', ours[at] ?? 'ends')}`
  return { sort: 'describe', text }
}

function ofTopics(expected: CaseResult, actual: CaseResult): Difference | undefined {
  const { internalTopics: theirs } = expected
  const { internalTopics: ours } = actual
  if (theirs === undefined || ours === undefined) return undefined
  for (const topic of new Set([...Object.keys(theirs), ...Object.keys(ours)])) {
    const [left, right] = [sorted(theirs[topic]), sorted(ours[topic])]
    if (left === right) continue
    return { sort: 'internal topics', text: `internal topic ${topic}:\n${pair(left, right)}` }
  }
  return undefined
}

function sorted(configs: Readonly<Record<string, string>> | undefined): string {
  if (configs === undefined) return 'does not exist'
  return Object.keys(configs)
    .sort()
    .map((name) => `${name}=${configs[name]}`)
    .join(' ')
}

function ofSteps(
  expected: CaseResult,
  actual: CaseResult,
  script: readonly ScriptEntry[],
): Difference | undefined {
  const theirs = expected.steps ?? []
  const ours = actual.steps ?? []
  for (let step = 0; step < Math.min(theirs.length, ours.length); step += 1) {
    const found = ofRows(theirs[step] ?? [], ours[step] ?? [])
    if (found === undefined) continue
    const entry = step in script ? ` ${JSON.stringify(script[step])}` : ''
    return { sort: 'steps', text: `step ${step}${entry}, ${found}` }
  }
  return undefined
}

function ofStores(expected: CaseResult, actual: CaseResult): Difference | undefined {
  const { stores: theirs } = expected
  const { stores: ours } = actual
  if (theirs === undefined || ours === undefined) return undefined
  for (const name of new Set([...Object.keys(theirs), ...Object.keys(ours)])) {
    const [left, right] = [theirs[name], ours[name]]
    if (left === undefined || right === undefined) {
      const there = (rows: unknown): string => (rows === undefined ? 'does not exist' : 'exists')
      return { sort: 'stores', text: `store ${name}:\n${pair(there(left), there(right))}` }
    }
    const found = ofRows(left, right)
    if (found !== undefined) return { sort: 'stores', text: `store ${name}, ${found}` }
  }
  return undefined
}

function ofDropped(expected: CaseResult, actual: CaseResult): Difference | undefined {
  if (expected.dropped === actual.dropped) return undefined
  const text = `dropped records:\n${pair(String(expected.dropped), String(actual.dropped))}`
  return { sort: 'dropped', text }
}

function ofRows(theirs: readonly ProducedRow[], ours: readonly ProducedRow[]): string | undefined {
  for (let row = 0; row < Math.max(theirs.length, ours.length); row += 1) {
    const [left, right] = [theirs[row], ours[row]]
    if (isSame(left, right)) continue
    return `record ${row + 1} of ${theirs.length}:\n${pair(shown(left), shown(right))}`
  }
  return undefined
}

/**
 * Kafka Streams forgets the bytes of a record at the first write that it leads to: a dead letter that
 * comes later has neither key nor value. Those of Millpond have both.
 */
function isSame(theirs: ProducedRow | undefined, ours: ProducedRow | undefined): boolean {
  const forgotten = theirs?.[1] === null && theirs[2] === null && isDeadLetter(theirs)
  const compared = forgotten && ours ? ours.with(1, null).with(2, null) : ours
  return JSON.stringify(theirs) === JSON.stringify(compared)
}

function isDeadLetter(row: ProducedRow): boolean {
  return row.includes('__streams.errors.exception=*')
}

function shown(row: ProducedRow | undefined): string {
  return row === undefined ? 'nothing' : row.map(readable).join(' ')
}

/** Bytes that are plain text are shown as such beside their hexadecimal form. */
function readable(cell: string | number | null): string {
  if (typeof cell !== 'string' || !/^(?:[0-9a-f]{2})+$/.test(cell)) return String(cell)
  const decoded = Buffer.from(cell, 'hex').toString('latin1')
  return /^[ -~]+$/.test(decoded) ? `${cell}(${decoded})` : cell
}

import { cpus, release, totalmem } from 'node:os'
import { pinning } from './cores.ts'
import type { SizedJob, Job } from './jobs.ts'
import type { Peer, Round } from './measure.ts'

/** The rounds of one job. A side without rounds cannot do it. */
export interface JobResult {
  readonly name: string
  readonly title: string
  readonly unit: Job['unit']
  readonly size: string
  readonly java: readonly Round[]
  readonly millpond: readonly Round[]
}

/** Everything that a run found. */
export interface Results {
  readonly date: string
  readonly machine: Readonly<Record<string, string | number>>
  readonly versions: Readonly<Record<string, string>>
  readonly settings: Readonly<Record<string, unknown>>
  readonly jobs: readonly JobResult[]
}

/** Where it was measured. */
export function machine(): Results['machine'] {
  return {
    cpu: cpus()[0]?.model.trim() ?? '',
    cores: cpus().length,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    pinning,
  }
}

/** The rounds of a job, with what was asked of it. */
export function jobResult(
  job: Job,
  { size }: SizedJob,
  rounds: Readonly<Record<Peer['name'], readonly Round[]>>,
): JobResult {
  return { name: job.name, title: job.title, unit: job.unit, size, ...rounds }
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? 0
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? upper) + upper) / 2
}

const thousands = (value: number): string =>
  value >= 100_000 ? `${Math.round(value / 1000)} k` : `${(value / 1000).toFixed(1)} k`

const column = (rounds: readonly Round[], of: (round: Round) => number | undefined): number[] =>
  rounds.map(of).filter((value) => value !== undefined)

const shown = (values: readonly number[], digits: number): string =>
  values.length === 0 ? '–' : median(values).toFixed(digits)

const side = (rounds: readonly Round[]): string => {
  if (rounds.length === 0) return 'not yet in Millpond'
  const paces = column(rounds, ({ perSecond }) => perSecond)
  return `${thousands(median(paces))} (${thousands(Math.max(...paces))})`
}

function ratio(
  java: readonly Round[],
  millpond: readonly Round[],
  of: (round: Round) => number | undefined,
): string {
  const ours = column(millpond, of)
  const theirs = column(java, of)
  if (ours.length === 0 || theirs.length === 0) return '–'
  return (median(ours) / median(theirs)).toFixed(2)
}

const both = (
  { java, millpond }: JobResult,
  of: (round: Round) => number | undefined,
  digits: number,
): string => `${shown(column(java, of), digits)} / ${shown(column(millpond, of), digits)}`

const header = [
  'job',
  'size',
  'Java, /s',
  'Millpond, /s',
  'ratio',
  'ratio, 2nd half',
  'start, s',
  'start to end, s',
  'CPU, s',
  'broker CPU, s',
  'peak MB',
  'peak MB without file pages',
  'p50, ms',
  'p99, ms',
]

function row(result: JobResult): string[] {
  const { java, millpond } = result
  return [
    result.title,
    result.size,
    side(java),
    side(millpond),
    ratio(java, millpond, ({ perSecond }) => perSecond),
    ratio(java, millpond, ({ perSecondLate }) => perSecondLate),
    both(result, ({ startSeconds }) => startSeconds, 2),
    both(result, ({ totalSeconds }) => totalSeconds, 1),
    both(result, ({ cpuSeconds }) => cpuSeconds, 1),
    both(result, ({ brokerCpuSeconds }) => brokerCpuSeconds, 1),
    both(result, ({ peakMemoryMb }) => peakMemoryMb, 0),
    both(result, ({ ownMemoryMb }) => ownMemoryMb, 0),
    both(result, ({ load }) => load?.p50Ms, 2),
    both(result, ({ load }) => load?.p99Ms, 2),
  ]
}

/** The results as a table of Markdown: medians of the rounds, the best in parentheses. */
export function table({ jobs }: Results): string {
  const rows = [header, header.map((_, index) => (index < 2 ? '---' : '--:')), ...jobs.map(row)]
  return rows.map((cells) => `| ${cells.join(' | ')} |`).join('\n')
}

import type { Branches } from '../../../src/dsl/kstream-split.ts'
import { InvalidCase, listOf } from '../case.ts'
import { text } from '../function-library.ts'
import type { OpCall, OpFamily, Stream } from './op.ts'

/** A split, for the ops that take one of its streams. */
class Split {
  /** Asked for when a step takes it. */
  readonly rest: () => Stream
  readonly streams: Readonly<Record<string, Stream>>

  constructor(streams: Record<string, Stream>, rest: () => Stream) {
    this.streams = streams
    this.rest = rest
  }
}

/** Where the records of a stream go: branches, topics that records name, repartition topics, lines. */
export const routeOps: OpFamily = {
  kinds: [['branches', Split]],
  ops: {
    'stream.split': split,
    'branches.branch': (call) => {
      const { branch = '' } = call.step
      const given = call.input<Split>()
      const stream = branch === 'rest' ? given.rest() : given.streams[branch]
      if (stream === undefined) throw new InvalidCase(`there is no branch ${branch}`)
      return stream
    },
    'stream.print': (call) => {
      const { label } = call.step
      const format = call.step.with === undefined ? undefined : call.with()
      return call.stream.print({
        ...call.named,
        ...(label !== undefined && { label }),
        ...(format !== undefined && { format: (v, k) => text(format(v, k)) }),
        to: (line) => call.tell('', line),
      })
    },
    'stream.repartition': (call) => {
      const { partitions } = call.step
      return call.stream.repartition({ ...call.named, ...call.keyAndValue, partitions })
    },
    'stream.toChosen': (call) => {
      const choose = call.with()
      const chooser = (value: unknown, key: unknown): string => text(choose(value, key))
      return call.stream.to(chooser, { ...call.named, ...call.keyAndValue })
    },
  },
}

function split(call: OpCall): Split {
  const { branches, rest } = call.step
  const predicates = listOf(call.step.with).map((_, index) => call.predicate(index))
  const options = { ...call.named, ...(rest !== undefined && { rest }) }
  if (branches === undefined) {
    const streams = call.stream.split(predicates, options)
    const counted = predicates.map((_, index) => [String(index + 1), streams[index]] as const)
    return new Split(Object.fromEntries(counted) as Record<string, Stream>, () => streams.rest)
  }
  const named = Object.fromEntries(branches.map((name, index) => [name, predicates[index]]))
  const streams = call.stream.split(named as Record<string, () => boolean>, options) as Branches<
    unknown,
    unknown,
    Record<string, never>
  >
  return new Split(streams, () => streams.rest)
}

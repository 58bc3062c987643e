import type { Optimizations } from '../../src/dsl/optimization.ts'
import { StreamsBuilder } from '../../src/dsl/streams-builder.ts'
import type { Topology } from '../../src/topology/topology.ts'
import { InvalidCase, listOf, type Step } from './case.ts'
import { globalOps } from './ops/global.ts'
import { joinOps } from './ops/joins.ts'
import { OpCall, type OpFamily, type PeekListener } from './ops/op.ts'
import { processorOps } from './ops/processors.ts'
import { routeOps } from './ops/routes.ts'
import { streamOps } from './ops/streams.ts'
import { tableOps } from './ops/tables.ts'
import { windowOps } from './ops/windows.ts'

/** Each family of operators brings its ops; a new one is a line here. */
const families: readonly OpFamily[] = [
  streamOps,
  tableOps,
  globalOps,
  routeOps,
  joinOps,
  windowOps,
  processorOps,
]

const ops = new Map(families.flatMap((family) => Object.entries(family.ops)))
const kinds = families.flatMap((family) => family.kinds ?? [])

/** Writes the program of a case with StreamsBuilder: one method call for each step. */
export class Program {
  readonly #builder: StreamsBuilder
  /** What each step gave, by id. */
  readonly #steps = new Map<string, unknown>()
  readonly #peeked: PeekListener
  #previous: unknown

  constructor(peeked: PeekListener, optimize: Optimizations = 'none') {
    this.#builder = new StreamsBuilder({ optimize })
    this.#peeked = peeked
  }

  build(steps: readonly Step[]): Topology {
    for (const step of steps) {
      this.#previous = this.#add(step)
      if (step.id !== undefined) this.#steps.set(step.id, this.#previous)
    }
    return this.#builder.build()
  }

  #add(step: Step): unknown {
    const inputs = (index: number): unknown => this.#input(step, index)
    const op = ops.get(`builder.${step.op}`) ?? ops.get(`${kindOf(inputs(0), step)}.${step.op}`)
    if (op === undefined) {
      throw new InvalidCase(`there is no op ${step.op} of what ${JSON.stringify(step)} is given`)
    }
    return op(new OpCall(step, { builder: this.#builder, inputs, peeked: this.#peeked }))
  }

  /** A step's n-th input; undefined: `from` does not name so many. */
  #input({ from }: Step, index: number): unknown {
    if (from === undefined) return index === 0 ? this.#previous : undefined
    const id = listOf(from)[index]
    if (id === undefined) return undefined
    if (!this.#steps.has(id)) throw new InvalidCase(`there is no step ${id}`)
    return this.#steps.get(id)
  }
}

function kindOf(input: unknown, step: Step): string {
  for (const [kind, type] of kinds) if (input instanceof type) return kind
  throw new InvalidCase(`the step above ${JSON.stringify(step)} gives nothing`)
}

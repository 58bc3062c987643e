import type { NodeSupplier } from '../../processor/processor.ts'
import { ProcessorGraphNode, type StoreOfStep } from './processor-graph-node.ts'

/** A windowed aggregation: suppression below it asks when windows close. Java's GracePeriodGraphNode. */
export class GracePeriodGraphNode extends ProcessorGraphNode {
  /** Milliseconds of stream time behind the end of a window after which it has closed. */
  readonly gracePeriod: number

  constructor(
    name: string,
    options: {
      readonly supplier: () => NodeSupplier
      readonly store: StoreOfStep
      readonly gracePeriod: number
    },
  ) {
    super(name, options.supplier, () => options.store)
    this.gracePeriod = options.gracePeriod
  }
}

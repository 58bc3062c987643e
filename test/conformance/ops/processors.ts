import { timestamped, type StoreAccess, type Stores } from '../../../src/processor/local-store.ts'
import type { StreamsBuilder } from '../../../src/dsl/streams-builder.ts'
import { keyValueStore } from '../../../src/store/descriptor.ts'
import { InvalidCase, type ProcessorStore } from '../case.ts'
import { serdeOf } from '../formats.ts'
import { storeOf } from '../processor-program.ts'
import { fixedKeyProcessorOf, processorOf } from '../processors.ts'
import { readingOf, type OpCall, type OpFamily } from './op.ts'

/** One descriptor for all steps that name its store. */
const storesOfBuilder = new WeakMap<StreamsBuilder, Map<string, StoreAccess>>()

/** Processors of one's own among the steps of StreamsBuilder, and sources by pattern. */
export const processorOps: OpFamily = {
  ops: {
    'builder.streamPattern': (call) => {
      const { pattern = '' } = call.step
      return call.builder.stream(new RegExp(pattern), { ...readingOf(call.step), ...call.named })
    },
    'builder.addStateStore': (call) => {
      call.builder.addStateStore(shared(call, call.step))
    },
    'stream.process': (call) => {
      const { list, stores } = usesOf(call)
      const supplier = processorOf(specOf(call), list)
      return call.stream.process(supplier, { ...call.named, ...call.keyAndValue, stores })
    },
    'stream.processValues': (call) => {
      const { list, stores } = usesOf(call)
      const supplier = fixedKeyProcessorOf(specOf(call), list)
      return call.stream.processValues(supplier, { ...call.named, ...call.keyAndValue, stores })
    },
  },
}

function specOf({ step: { processor } }: OpCall): string {
  if (processor === undefined) throw new InvalidCase('a step needs its processor')
  return processor
}

function usesOf(call: OpCall): { list: StoreAccess[]; stores: Stores } {
  const list = (call.step.uses ?? []).map((spec) => shared(call, spec))
  return {
    list,
    stores: Object.fromEntries(list.map((access, index) => [`store${index}`, access])),
  }
}

function shared(call: OpCall, spec: ProcessorStore): StoreAccess {
  const { table } = spec
  // A table's store is known by name and serdes; what it is seen with, the step says itself.
  if (table !== undefined) {
    const store = keyValueStore(table, { key: serdeOf(spec.key), value: serdeOf(spec.value) })
    return spec.timestamped === false ? store : timestamped(store)
  }
  const stores = storesOfBuilder.get(call.builder) ?? new Map<string, StoreAccess>()
  storesOfBuilder.set(call.builder, stores)
  const store = stores.get(spec.name ?? '') ?? storeOf(spec)
  stores.set(spec.name ?? '', store)
  return store
}

import { equalBytes } from '../../base/bytes.ts'
import { murmur3Hash128 } from '../../base/murmur3.ts'
import { settled } from '../../processor/assert-done.ts'
import type { Change } from '../../processor/change.ts'
import type { NodeContext, NodeProcessor, NodeSupplier } from '../../processor/processor.ts'
import { parseTaskId } from '../../processor/record-metadata.ts'
import { droppedNullForeignKey, droppedSupersededVersion } from '../operators/dropped-reason.ts'
import type { UserFunction } from '../operators/user-function.ts'
import type { AnySerde } from '../topic.ts'
import { instructions, type Instruction, type SubscriptionWrapper } from './subscription-wrapper.ts'

/** What is known of the left table and of its foreign keys. */
export interface SubscriptionSendOptions {
  readonly kind: 'inner' | 'left'
  readonly foreignKeyOf: UserFunction<unknown>
  /** Of the foreign keys. */
  readonly foreignKey: AnySerde
  /** Of the left values. */
  readonly value: AnySerde
  /** Late versions are among the changes: they do not count. */
  readonly isVersioned: boolean
}

/**
 * Tells foreign keys which rows of the left table refer to them, and which no longer do. Java's
 * SubscriptionSendProcessorSupplier.
 */
export function subscriptionSend(options: SubscriptionSendOptions): NodeSupplier {
  return (context) => new SubscriptionSend(context, options)
}

/** The one message of a processor: it is serialized before the next one is made. */
type Message = { -readonly [field in keyof SubscriptionWrapper]: SubscriptionWrapper[field] }

class SubscriptionSend implements NodeProcessor<unknown, Change> {
  readonly #context: NodeContext
  readonly #options: SubscriptionSendOptions
  readonly #message: Message

  constructor(context: NodeContext, options: SubscriptionSendOptions) {
    this.#context = context
    this.#options = options
    this.#message = {
      instruction: instructions.deleteNoPropagate,
      hash: null,
      primaryKey: undefined,
      // A task reads the partitions of its own number.
      primaryPartition: parseTaskId(context.taskId).partition,
    }
  }

  process(key: unknown, change: Change): void {
    const { kind, isVersioned } = this.#options
    if (isVersioned && !change.isLatest) {
      this.#context.dropped(droppedSupersededVersion)
      return
    }
    if (kind === 'left') this.#tellOfLeftJoin(key, change)
    else this.#tellOfInnerJoin(key, change)
  }

  #tellOfLeftJoin(key: unknown, { newValue, oldValue }: Change): void {
    if (newValue === undefined && oldValue === undefined) return
    const before = this.#foreignKeyOf(key, oldValue)
    const now = this.#foreignKeyOf(key, newValue)
    this.#begin(key, newValue)
    // The new foreign key may be in another partition: the old one is told by itself.
    if (before !== null && !this.#isSame(before, now)) {
      this.#tell(before, instructions.deleteNoPropagate)
    }
    // Also for a row without a foreign key, and for one that is gone: the result is made of the answer.
    this.#tell(now, instructions.propagateNullIfNoValue)
  }

  #tellOfInnerJoin(key: unknown, { newValue, oldValue }: Change): void {
    const before = this.#foreignKeyOf(key, oldValue)
    const now = this.#foreignKeyOf(key, newValue)
    if (newValue !== undefined && now === null) this.#context.dropped(droppedNullForeignKey)
    if (now === null && before === null) return
    this.#begin(key, newValue)
    if (now === null) {
      this.#tell(before, instructions.deleteAndPropagate)
      return
    }
    if (before === null || this.#isSame(before, now)) {
      // Without a match there is no result to take back: there was none before either.
      this.#tell(now, instructions.propagateOnlyIfValue)
      return
    }
    this.#tell(before, instructions.deleteNoPropagate)
    this.#tell(now, instructions.propagateNullIfNoValue)
  }

  #foreignKeyOf(key: unknown, value: unknown): unknown {
    if (value === undefined) return null
    return settled(this.#options.foreignKeyOf(value, key), this.#context.node) ?? null
  }

  /** Foreign keys are the same when their bytes are. */
  #isSame(before: unknown, now: unknown): boolean {
    if (now === null) return false
    const { foreignKey } = this.#options
    return (
      Object.is(before, now) || equalBytes(foreignKey.serialize(before), foreignKey.serialize(now))
    )
  }

  #begin(key: unknown, newValue: unknown): void {
    const message = this.#message
    message.primaryKey = key
    message.hash =
      newValue === undefined ? null : murmur3Hash128(this.#options.value.serialize(newValue))
  }

  #tell(foreignKey: unknown, instruction: Instruction): void {
    this.#message.instruction = instruction
    this.#context.forward(foreignKey, this.#message)
  }
}

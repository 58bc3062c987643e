import type { GlobalInput } from '../task/global-inputs.ts'
import type { FoundInput } from './global-topics.ts'

/**
 * Partitions that were added to global topics while the offsets of their logs are asked for: each on its
 * own, and beside the loop, so that one whose offsets cannot be read holds up nothing else.
 */
export class AddedInputs {
  readonly #find: (input: GlobalInput) => Promise<readonly FoundInput[]>
  readonly #notify: () => void
  readonly #questions = new Set<Promise<void>>()
  #found: FoundInput[] = []
  #failure: { readonly error: unknown } | undefined

  /** `notify`: there is something to take. */
  constructor(find: (input: GlobalInput) => Promise<readonly FoundInput[]>, notify: () => void) {
    this.#find = find
    this.#notify = notify
  }

  ask(input: GlobalInput): void {
    const question = this.#ask(input).finally(() => {
      this.#questions.delete(question)
      this.#notify()
    })
    this.#questions.add(question)
  }

  async #ask(input: GlobalInput): Promise<void> {
    try {
      const found = await this.#find(input)
      // Not in one line: the list of before the wait may have been taken.
      this.#found.push(...found)
    } catch (error) {
      this.#failure ??= { error }
    }
  }

  /** Those that are known by now, once. Throws what a question failed with. */
  take(): readonly FoundInput[] {
    if (this.#failure !== undefined) throw this.#failure.error
    if (this.#found.length === 0) return none
    const found = this.#found
    this.#found = []
    return found
  }

  /** Resolves when nothing is being asked. Never rejects. */
  async settled(): Promise<void> {
    await Promise.all(this.#questions)
  }
}

const none: readonly FoundInput[] = []

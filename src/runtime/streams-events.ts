import { shownValue } from '../base/shown-value.ts'
import { StreamsError } from '../errors.ts'
import type { RestoreProgress } from './changelog-reader.ts'
import type { StandbyUpdate } from './standby-reader.ts'
import type { StreamsState } from './streams-state.ts'

/** Listeners of an instance, by event. */
export interface StreamsEvents {
  stateChange: (now: StreamsState, before: StreamsState) => void
  restore: (progress: RestoreProgress) => void
  standbyUpdate: (update: StandbyUpdate) => void
  /** The failure that ends the instance; `closed` rejects with it as well. */
  error: (error: Error) => void
}

/** Calls the listeners of an instance, in the turn in which something happens. */
export class StreamsEmitter {
  /** Sets, since a listener may take itself off while all are called. */
  readonly #listeners: { [E in keyof StreamsEvents]: Set<StreamsEvents[E]> } = {
    stateChange: new Set(),
    restore: new Set(),
    standbyUpdate: new Set(),
    error: new Set(),
  }

  on<E extends keyof StreamsEvents>(event: E, listener: StreamsEvents[E]): void {
    if (!Object.hasOwn(this.#listeners, event) || typeof listener !== 'function') {
      const events = Object.keys(this.#listeners).join(', ')
      const detail = `on(event, listener) takes a function and one of ${events}, not ${shownValue(event)}`
      throw new StreamsError('CONFIG_INVALID', { option: 'event', detail })
    }
    this.#listeners[event].add(listener)
  }

  off<E extends keyof StreamsEvents>(event: E, listener: StreamsEvents[E]): void {
    if (Object.hasOwn(this.#listeners, event)) this.#listeners[event].delete(listener)
  }

  stateChange(now: StreamsState, before: StreamsState): void {
    for (const listener of this.#listeners.stateChange) call(() => listener(now, before))
  }

  restore(progress: RestoreProgress): void {
    for (const listener of this.#listeners.restore) call(() => listener(progress))
  }

  standbyUpdate(update: StandbyUpdate): void {
    for (const listener of this.#listeners.standbyUpdate) call(() => listener(update))
  }

  error(error: Error): void {
    for (const listener of this.#listeners.error) call(() => listener(error))
  }
}

/** What a listener throws is not for us to catch, nor may it stop what we are doing. */
function call(listener: () => void): void {
  try {
    listener()
  } catch (error) {
    queueMicrotask(() => {
      throw error
    })
  }
}

/** What to end when a signal aborts: one listener for each signal, however many questions have it. */
export class AbortWatch {
  readonly #watched = new Map<AbortSignal, { ends: Set<() => void>; listener: () => void }>()

  /** Returns what ends the watch. */
  watch(signal: AbortSignal | undefined, end: () => void): () => void {
    if (signal === undefined) return notWatched
    const { ends } = this.#watched.get(signal) ?? this.#begin(signal)
    ends.add(end)
    return () => {
      ends.delete(end)
      if (ends.size === 0) this.#forget(signal)
    }
  }

  #begin(signal: AbortSignal): { ends: Set<() => void>; listener: () => void } {
    const ends = new Set<() => void>()
    const listener = (): void => {
      for (const end of ends) end()
    }
    signal.addEventListener('abort', listener, { once: true })
    const watched = { ends, listener }
    this.#watched.set(signal, watched)
    return watched
  }

  #forget(signal: AbortSignal): void {
    const watched = this.#watched.get(signal)
    this.#watched.delete(signal)
    if (watched !== undefined) signal.removeEventListener('abort', watched.listener)
  }
}

function notWatched(): void {
  // There is nothing to end.
}

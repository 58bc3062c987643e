/** What the demo does on signals. */
export interface SignalActions {
  /** The first SIGINT, SIGTERM or SIGHUP: stop in order. */
  readonly onStop: () => void
  /** The second one: stop at once. */
  readonly onKill: () => void
  /** SIGUSR2: bring back what has died. */
  readonly onRestart: () => void
}

/** Windows has no signals of the user's. */
const hasUserSignals = process.platform !== 'win32'

const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const

/** Listens to the signals of this process until it is removed. */
export class SignalHandlers {
  readonly #actions: SignalActions
  #isStopping = false

  constructor(actions: SignalActions) {
    this.#actions = actions
    for (const signal of stopSignals) process.on(signal, this.#onStopSignal)
    if (hasUserSignals) process.on('SIGUSR2', this.#onRestartSignal)
  }

  remove(): void {
    for (const signal of stopSignals) process.off(signal, this.#onStopSignal)
    process.off('SIGUSR2', this.#onRestartSignal)
  }

  readonly #onStopSignal = (): void => {
    if (this.#isStopping) this.#actions.onKill()
    else this.#actions.onStop()
    this.#isStopping = true
  }

  readonly #onRestartSignal = (): void => this.#actions.onRestart()
}

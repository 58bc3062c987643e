/**
 * Aborts on the first SIGINT or SIGTERM of this process. The second one ends the process as if
 * nobody listened: who presses Ctrl-C twice does not want to wait.
 *
 * @example
 * await streams.run({ signal: shutdownSignal() })
 */
export function shutdownSignal(): AbortSignal {
  const controller = new AbortController()
  const signals = ['SIGINT', 'SIGTERM'] as const
  const listener = (signal: NodeJS.Signals): void => {
    for (const one of signals) process.removeListener(one, listener)
    controller.abort(new Error(`received ${signal}`))
  }
  for (const one of signals) process.on(one, listener)
  return controller.signal
}

/**
 * One end of a channel between two threads of a process: what queries need of a `MessagePort` of
 * `worker_threads`. What is posted arrives as a structured clone, in order, or not at all.
 */
export interface QueryPort {
  postMessage(message: unknown): void
  on(event: 'message', listener: (message: unknown) => void): unknown
  /** Once, when either end was closed or the thread of the other end has ended. */
  on(event: 'close', listener: () => void): unknown
  /** What was posted before still arrives; `close` is then told at both ends. */
  close(): void
}

/** Sends what is in one message to the other end. */
export function post(port: QueryPort, messages: readonly unknown[]): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port of this process
  port.postMessage(messages)
}

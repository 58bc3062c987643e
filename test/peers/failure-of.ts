/**
 * What the promise will be rejected with; undefined when it resolves. Taken before the events that make it
 * fail, so that the failure is expected from the start.
 */
export function failureOf(promise: Promise<unknown> | undefined): Promise<unknown> {
  if (promise === undefined) throw new Error('there is nothing that could fail')
  return promise.then(
    () => undefined,
    (error: unknown) => error,
  )
}

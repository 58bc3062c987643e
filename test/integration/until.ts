/** Between two looks at a condition that nothing announces. */
const pollMs = 10

/**
 * Resolves with the first truthy value of the condition. What it throws counts as "not yet" until the
 * end of the test, whose timeout is the bound; the last reason is then shown.
 */
export async function until<T>(
  condition: () => T | Promise<T>,
  signal?: AbortSignal,
): Promise<NonNullable<T>> {
  let reason: unknown = 'the condition was false'
  for (;;) {
    if (signal?.aborted) throw new Error('waited in vain', { cause: reason })
    try {
      const value = await condition()
      if (value) return value
    } catch (error) {
      reason = error
    }
    await new Promise((resolve) => {
      setTimeout(resolve, pollMs)
    })
  }
}

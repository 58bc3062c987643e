/** Between two looks at something that nothing announces. */
const pollMs = 20

/** Nothing that the benchmark waits for may take longer than this. */
export interface Bound {
  readonly what: string
  readonly timeoutMs: number
  readonly signal: AbortSignal
}

/** The promise, or an error when it takes too long or the run is broken off. */
export async function within<T>(
  promise: Promise<T>,
  { what, timeoutMs, signal }: Bound,
): Promise<T> {
  signal.throwIfAborted()
  let timer: NodeJS.Timeout | undefined
  let aborted: (() => void) | undefined
  const broken = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () => reject(new Error(`${what} took more than ${timeoutMs / 1000} s`)),
      timeoutMs,
    )
    aborted = () => reject(signal.reason as Error)
    signal.addEventListener('abort', aborted)
  })
  try {
    return await Promise.race([promise, broken])
  } finally {
    clearTimeout(timer)
    if (aborted !== undefined) signal.removeEventListener('abort', aborted)
  }
}

/** Looks again and again until the condition holds. */
export async function until(condition: () => Promise<boolean>, bound: Bound): Promise<void> {
  const deadline = Date.now() + bound.timeoutMs
  while (!(await within(condition(), { ...bound, timeoutMs: deadline - Date.now() }))) {
    await new Promise((resolve) => {
      setTimeout(resolve, pollMs)
    })
  }
}

/**
 * What a thread begins with. From the sources, as tests run them, it is what was built last: a thread does
 * not get the compiler of the one that starts it.
 */
export const threadEntry: URL = import.meta.url.endsWith('.ts')
  ? new URL('../../dist/threads/worker-thread.js', import.meta.url)
  : new URL('./worker-thread.js', import.meta.url)

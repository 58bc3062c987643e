/**
 * Which records of transactions are read (Java: isolation.level). `read_committed`: those that were
 * committed, up to the first transaction that is open (the last stable offset). `read_uncommitted`: all,
 * up to the high watermark.
 */
export type Isolation = 'read_uncommitted' | 'read_committed'

/** The level as requests carry it. */
export const isolationLevel: Readonly<Record<Isolation, number>> = {
  read_uncommitted: 0,
  read_committed: 1,
}

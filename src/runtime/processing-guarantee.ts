/** What the guarantee that a program asks for means to those who read and write for it. */
import type { Isolation } from '../client/isolation.ts'
import type { ResolvedConfig } from '../config.ts'

/** Which records are read: under exactly-once only those that were committed. */
export function isolationOf({
  processingGuarantee,
}: Pick<ResolvedConfig, 'processingGuarantee'>): Isolation {
  return processingGuarantee === 'exactly-once' ? 'read_committed' : 'read_uncommitted'
}

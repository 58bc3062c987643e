import { requiredTime } from '../store/retention.ts'
import type { StoreNode } from './node.ts'

type Configs = Readonly<Record<string, string>>

/** What changelogs of windows are kept for longer than the store keeps them, by default. */
export const additionalRetentionDefault: number = 24 * 60 * 60 * 1000
/** The same for versions; not to be configured, as in Java. */
const additionalCompactionLag = 24 * 60 * 60 * 1000
/** Java's Long.MAX_VALUE. */
const longMax = '9223372036854775807'

/**
 * The configs of a store's changelog topic: what its kind needs, under those of all internal topics,
 * under those of the store itself. Java's UnwindowedUnversionedChangelogTopicConfig,
 * WindowedChangelogTopicConfig and VersionedChangelogTopicConfig.
 *
 * @param additionalRetention milliseconds that windows stay in the changelog after the store forgot them.
 */
export function changelogConfigs(
  { descriptor, timestamped }: StoreNode,
  topicConfigs: Configs,
  additionalRetention: number,
): Configs {
  const own: Configs = typeof descriptor.changelog === 'object' ? descriptor.changelog : {}
  switch (descriptor.kind) {
    case 'window':
    case 'session': {
      // Kafka Streams knows this of the stores of joins, which have no timestamps.
      const hasDuplicates =
        descriptor.kind === 'window' && descriptor.retainDuplicates === true && !timestamped
      const retention = requiredTime(descriptor, 'retention')
      return {
        'cleanup.policy': 'compact,delete',
        ...topicConfigs,
        // Each of them is a row of its own: compaction has nothing to do.
        ...(hasDuplicates && { 'cleanup.policy': 'delete' }),
        'retention.ms': sum(retention, additionalRetention),
        ...own,
      }
    }
    case 'versioned':
      return {
        'cleanup.policy': 'compact',
        ...topicConfigs,
        'min.compaction.lag.ms': sum(descriptor.historyRetention, additionalCompactionLag),
        ...own,
      }
    case 'key-value':
      return { 'cleanup.policy': 'compact', ...topicConfigs, ...own }
    default:
      throw new TypeError(descriptor satisfies never)
  }
}

function sum(a: number, b: number): string {
  return a + b > Number.MAX_SAFE_INTEGER ? longMax : String(a + b)
}

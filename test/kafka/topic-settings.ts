import { Admin } from '../../src/client/admin.ts'
import type { TestCluster } from '../integration/test-cluster.ts'

/** The internal topics of an application, without its id: partitions, and what is configured or not. */
export async function topicSettings(cluster: TestCluster, application: string): Promise<unknown> {
  const admin = new Admin(cluster.client)
  const topics = await admin.listTopics()
  const names = [...topics.keys()].filter((name) => name.startsWith(`${application}-`)).sort()
  const configs = await admin.describeConfigs(
    names.map((name) => ({ type: 'topic' as const, name })),
  )
  return names.map((name, index) => ({
    name: name.slice(application.length),
    partitions: topics.get(name)?.partitions.length,
    configs: Object.fromEntries(
      (configs[index] ?? []).map((entry) => [entry.name, [entry.value, entry.isDefault]]),
    ),
  }))
}

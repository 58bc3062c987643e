/** How the topics end that an application creates for itself, in Java and here. */
const endings = [
  /-changelog$/,
  /-repartition$/,
  /-subscription-registration-topic$/,
  /-subscription-response-topic$/,
  /.-KTABLE-FK-JOIN-SUBSCRIPTION-REGISTRATION-\d+-topic$/,
  /.-KTABLE-FK-JOIN-SUBSCRIPTION-RESPONSE-\d+-topic$/,
]

/**
 * Whether a topic has the name of an internal topic of the application. `others` are the ids of
 * applications whose topics begin alike: those of `orders-v2` do not belong to `orders`.
 */
export function isInternalTopicOf(
  applicationId: string,
  topic: string,
  others: readonly string[] = [],
): boolean {
  const isOf = (id: string): boolean => topic.startsWith(`${id}-`)
  if (!isOf(applicationId) || !endings.some((ending) => ending.test(topic))) return false
  return !others.some((other) => other.length > applicationId.length && isOf(other))
}

import { errorCode } from '../../protocol/error-codes.ts'
import type { listGroups } from '../../protocol/messages/16-list-groups.ts'
import type { RequestOf, ResponseInputOf } from '../../protocol/schema.ts'
import type { RequestContext } from '../request-context.ts'

/** Lists groups; states and types are compared without regard to case, as Kafka does. */
export function handleListGroups(
  { statesFilter, typesFilter }: RequestOf<typeof listGroups>,
  { broker }: RequestContext,
): ResponseInputOf<typeof listGroups> {
  const allows = (filter: readonly string[], value: string): boolean =>
    filter.length === 0 || filter.some((one) => one.toLowerCase() === value.toLowerCase())
  return {
    errorCode: errorCode.NONE,
    groups: broker.groups
      .list()
      .filter(
        ({ state, groupType }) => allows(statesFilter, state) && allows(typesFilter, groupType),
      )
      .map(({ groupId, groupType, protocolType, state }) => ({
        groupId,
        protocolType,
        groupState: state,
        groupType,
      })),
  }
}

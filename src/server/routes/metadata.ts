import { Type } from 'typebox'
import { StreamsError } from '../../errors.ts'
import { statusHere } from '../../query/partition-holder.ts'
import { partitionCountOf, partitionOfKey, queryableDescriptor } from '../../query/local-query.ts'
import type { QueryTarget } from '../../query/query-target.ts'
import { endpointName } from '../../query/router.ts'
import type { HttpSubject } from '../instance.ts'
import { keyFormatOf, parseKey } from '../key-format.ts'
import type { TypedApp } from '../typed-app.ts'
import { assertInstance } from './stores.ts'

const storeParams = Type.Object({ store: Type.String() })
const keyParams = Type.Object({ store: Type.String(), key: Type.String() })
const keyQuery = Type.Object(
  { keyFormat: Type.Optional(Type.Union([Type.Literal('text'), Type.Literal('base64')])) },
  { additionalProperties: false },
)

/** Who holds a partition, by `host:port`; `lag` where this instance knows it. */
interface PartitionMetadata {
  readonly partition: number
  /** Null: nobody that is known. */
  readonly active: string | null
  readonly standby: readonly string[]
  readonly lag?: number
}

/** Who holds what: all partitions of a store, or that of a key. */
export function metadataRoutes(app: TypedApp, subject: HttpSubject): void {
  app.get('/v1/metadata/stores/:store', { schema: { params: storeParams } }, (request) => {
    const { store } = request.params
    const target = open(subject, store)
    if (target.isGlobal(store)) return { store, global: true, instances: holders(target, store) }
    const count = partitionCountOf(target, store)
    return Promise.all(
      Array.from({ length: count }, (_, partition) => metadataOf(target, store, partition)),
    ).then((partitions) => ({ store, partitions }))
  })

  const keySchema = { params: keyParams, querystring: keyQuery }
  app.get('/v1/metadata/stores/:store/keys/:key', { schema: keySchema }, (request) => {
    const { store, key } = request.params
    const target = open(subject, store)
    const descriptor = queryableDescriptor(target, store)
    const format = keyFormatOf(descriptor, request.query.keyFormat)
    if (target.isGlobal(store)) {
      return { store, key, global: true, instances: holders(target, store) }
    }
    const keyBytes = parseKey(descriptor, format, key)
    const partition = partitionOfKey(target, { kind: 'get', store, keyBytes })
    return metadataOf(target, store, partition).then((metadata) => {
      if (metadata.active === null) throw new StreamsError('OWNER_UNKNOWN', { store, partition })
      return { store, key, ...metadata }
    })
  })
}

/** The instances that hold a global store, this one first. */
function holders(target: QueryTarget, store: string): string[] {
  const { active, standby } = target.hosts(store, 0)
  return [...(active === undefined ? [] : [active]), ...standby].map(endpointName)
}

function open(subject: HttpSubject, store: string): QueryTarget {
  subject.exposure.assertExposed(store)
  const { target } = assertInstance(subject)
  queryableDescriptor(target, store)
  if (!target.hostsKnown) throw new StreamsError('STREAMS_REBALANCING', { store })
  return target
}

async function metadataOf(
  target: QueryTarget,
  store: string,
  partition: number,
): Promise<PartitionMetadata> {
  const { active, standby } = target.hosts(store, partition)
  const local = await statusHere(target, store, partition)
  return {
    partition,
    active: active === undefined ? null : endpointName(active),
    standby: standby.map(endpointName),
    ...(local === undefined ? {} : { lag: local.lag }),
  }
}

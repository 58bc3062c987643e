import { StreamsError } from '../../errors.ts'
import { partitionCountOf, queryableDescriptor } from '../../query/local-query.ts'
import type { HttpSubject, Instance } from '../instance.ts'
import type { TypedApp } from '../typed-app.ts'

/** `GET /v1/stores`: what can be asked here. */
export function storeRoutes(app: TypedApp, subject: HttpSubject): void {
  app.get('/v1/stores', () => {
    const { target } = assertInstance(subject)
    const stores = subject.exposure.stores.map((name) => {
      const { kind, key, value } = queryableDescriptor(target, name)
      return {
        name,
        type: kind,
        serdes: { key: key.name, value: value.name },
        keyFormat: key.text === undefined ? 'base64' : 'text',
        // Of a global store every instance holds all.
        ...(target.isGlobal(name)
          ? { global: true }
          : { partitions: partitionCountOf(target, name) }),
        operations: subject.exposure.operationsOf(name),
      }
    })
    return { stores }
  })
}

/** Throws `STREAMS_NOT_STARTED` in the moment between the port and the instance. */
export function assertInstance(subject: HttpSubject): Instance {
  if (subject.instance === undefined) throw new StreamsError('STREAMS_NOT_STARTED')
  return subject.instance
}

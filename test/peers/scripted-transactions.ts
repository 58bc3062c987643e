import type { ProducerOptions } from '../../src/client/producer.ts'
import {
  TransactionManager,
  type TransactionManagerOptions,
} from '../../src/client/transaction-manager.ts'
import { errorCode } from '../../src/protocol/error-codes.ts'
import { apiVersions } from '../../src/protocol/messages/18-api-versions.ts'
import { initProducerId } from '../../src/protocol/messages/22-init-producer-id.ts'
import { addPartitionsToTxn } from '../../src/protocol/messages/24-add-partitions-to-txn.ts'
import { addOffsetsToTxn } from '../../src/protocol/messages/25-add-offsets-to-txn.ts'
import { endTxn } from '../../src/protocol/messages/26-end-txn.ts'
import { txnOffsetCommit } from '../../src/protocol/messages/28-txn-offset-commit.ts'
import type { Api } from '../../src/protocol/schema.ts'
import { startProducing, type ProducingSetUp } from './scripted-appends.ts'
import type { ScriptedBroker } from './scripted-broker.ts'

/** What the next request of an API meets: answered as usual when there is nothing. */
export type TransactionFault =
  | 'lose the request'
  | 'lose the answer'
  | { readonly code: number; readonly meanwhile?: () => void }

export type TransactionApi =
  | 'InitProducerId'
  | 'AddPartitionsToTxn'
  | 'AddOffsetsToTxn'
  | 'TxnOffsetCommit'
  | 'EndTxn'

/**
 * The coordinator of one transactional id, scripted: it checks the epoch, and that what is committed was
 * added before, as Kafka does.
 */
export class ScriptedCoordinator {
  /** What it has done, in order: a request that was lost is not there. */
  readonly done: string[] = []
  /** What the next requests of an API meet, in turn. */
  readonly faults = new Map<TransactionApi, TransactionFault[]>()
  readonly #version: 1 | 2
  #epoch = -1
  #state: 'empty' | 'ongoing' | 'committed' = 'empty'
  #hasGroup = false

  constructor(brokers: readonly ScriptedBroker[], version: 1 | 2) {
    this.#version = version
    for (const broker of brokers) this.#script(broker)
  }

  /** Another producer is initialized with the same transactional id. */
  takeOver(): void {
    this.#epoch += 1
    this.#state = 'empty'
  }

  /** A broker has written a batch: in the second protocol that adds its partition. */
  written(): void {
    if (this.#version === 2) this.#state = 'ongoing'
  }

  fail(api: TransactionApi, ...faults: TransactionFault[]): void {
    this.faults.set(api, [...(this.faults.get(api) ?? []), ...faults])
  }

  #script(broker: ScriptedBroker): void {
    const feature = {
      name: 'transaction.version',
      maxVersionLevel: this.#version,
      minVersionLevel: 1,
    }
    broker.on(apiVersions, () => ({
      errorCode: 0,
      apiKeys: broker.versionRows(),
      finalizedFeatures: [feature],
    }))
    this.#on(broker, initProducerId, 'InitProducerId', {
      run: () => {
        this.#epoch += 1
        this.done.push(this.#state === 'ongoing' ? 'abort' : 'init')
        this.#state = 'empty'
        this.#hasGroup = false
        return { errorCode: 0, producerId: 1000, producerEpoch: this.#epoch }
      },
      refusal: (code) => ({ errorCode: code, producerId: -1, producerEpoch: -1 }),
    })
    this.#on(broker, addPartitionsToTxn, 'AddPartitionsToTxn', {
      run: (body) => {
        const names = body.v3AndBelowTopics.flatMap(({ name, partitions }) =>
          partitions.map((partition) => `${name}-${partition}`),
        )
        const code = this.#check(body.v3AndBelowProducerEpoch)
        if (code === 0) this.#begin(`add ${names.join(' ')}`)
        return addedRows(body, code)
      },
      refusal: (code, body) => addedRows(body, code),
    })
    this.#on(broker, addOffsetsToTxn, 'AddOffsetsToTxn', {
      run: (body) => {
        const code = this.#check(body.producerEpoch)
        if (code === 0) this.#begin(`add group ${body.groupId}`)
        this.#hasGroup = true
        return { errorCode: code }
      },
      refusal: (code) => ({ errorCode: code }),
    })
    this.#on(broker, txnOffsetCommit, 'TxnOffsetCommit', {
      run: (body) => {
        const isKnown = this.#version === 2 || this.#hasGroup
        const code = isKnown ? this.#check(body.producerEpoch) : errorCode.INVALID_TXN_STATE
        const { memberId, generationIdOrMemberEpoch: generation } = body
        const offsets = body.topics.flatMap(({ name, partitions }) =>
          partitions.map((row) => `${name}-${row.partitionIndex}@${row.committedOffset}`),
        )
        if (code === 0) this.#begin(`offsets ${offsets.join(' ')} of ${memberId}/${generation}`)
        return offsetRows(body, code)
      },
      refusal: (code, body) => offsetRows(body, code),
    })
    this.#on(broker, endTxn, 'EndTxn', {
      run: (body) => this.#end(body.producerEpoch),
      refusal: (code) => ({ errorCode: code }),
    })
  }

  #end(epoch: number) {
    const isRepeated =
      this.#state === 'committed' && epoch === (this.#version === 1 ? this.#epoch : this.#epoch - 1)
    if (!isRepeated) {
      const code = this.#check(epoch)
      if (code !== 0) return { errorCode: code }
      if (this.#state !== 'ongoing') return { errorCode: errorCode.INVALID_TXN_STATE }
      this.done.push('commit')
      this.#state = 'committed'
      this.#hasGroup = false
      if (this.#version === 2) this.#epoch += 1
    }
    return this.#version === 1
      ? { errorCode: 0 }
      : { errorCode: 0, producerId: 1000, producerEpoch: this.#epoch }
  }

  #check(epoch: number): number {
    return epoch === this.#epoch ? errorCode.NONE : errorCode.PRODUCER_FENCED
  }

  #begin(what: string): void {
    this.#state = 'ongoing'
    this.done.push(what)
  }

  #on<Body, Response>(
    broker: ScriptedBroker,
    api: Api<never, Body, Response, unknown>,
    name: TransactionApi,
    answer: { run: (body: Body) => Response; refusal: (code: number, body: Body) => Response },
  ): void {
    broker.on(api, ({ body, connection }) => {
      const fault = this.faults.get(name)?.shift()
      if (typeof fault === 'object') {
        fault.meanwhile?.()
        return answer.refusal(fault.code, body)
      }
      if (fault === 'lose the request') {
        connection.destroy()
        return 'silence'
      }
      const response = answer.run(body)
      if (fault === undefined) return response
      connection.destroy()
      return 'silence'
    })
  }
}

function addedRows(
  body: { v3AndBelowTopics: readonly { name: string; partitions: readonly number[] }[] },
  code: number,
) {
  return {
    resultsByTopicV3AndBelow: body.v3AndBelowTopics.map(({ name, partitions }) => ({
      name,
      resultsByPartition: partitions.map((partitionIndex) => ({
        partitionIndex,
        partitionErrorCode: code,
      })),
    })),
  }
}

function offsetRows(
  body: { topics: readonly { name: string; partitions: readonly { partitionIndex: number }[] }[] },
  code: number,
) {
  return {
    topics: body.topics.map(({ name, partitions }) => ({
      name,
      partitions: partitions.map(({ partitionIndex }) => ({ partitionIndex, errorCode: code })),
    })),
  }
}

/** What a test of transactions works with. */
export interface TransactionSetUp extends ProducingSetUp {
  readonly coordinator: ScriptedCoordinator
  readonly transactions: TransactionManager
  /** One more manager of the same transactional id. */
  readonly another: () => TransactionManager
}

/** Starts a transactional producer against brokers that speak that protocol. */
export async function startTransactions(
  options: {
    version?: 1 | 2
    nodes?: number
    partitions?: number
    producer?: ProducerOptions
  } = {},
): Promise<TransactionSetUp> {
  const { version = 2, ...rest } = options
  const managerOptions: TransactionManagerOptions = { transactionalId: 'id', timeoutMs: 10_000 }
  const managers: TransactionManager[] = []
  let coordinator: ScriptedCoordinator | undefined
  const setUp = await startProducing({
    ...rest,
    onWritten: () => coordinator?.written(),
    session: (client) => {
      const made = new TransactionManager(client, managerOptions)
      managers.push(made)
      return made
    },
  })
  const [transactions] = managers
  if (transactions === undefined) throw new Error('the producer has a session')
  coordinator = new ScriptedCoordinator(setUp.cluster.brokers, version)
  return {
    ...setUp,
    coordinator,
    transactions,
    another: () => {
      const made = new TransactionManager(setUp.client, managerOptions)
      managers.push(made)
      return made
    },
    end: async () => {
      await setUp.producer.close()
      await Promise.all(managers.map((one) => one.close()))
      await setUp.end()
    },
  }
}

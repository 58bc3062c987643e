import type { Clock, Timer } from '../base/clock.ts'
import type { Log } from '../base/log.ts'
import type { KafkaClient } from '../client/kafka-client.ts'
import { kafkaErrorName } from '../client/kafka-failure.ts'
import { fenceProducer, openTransactions } from '../client/transaction-admin.ts'
import { isStreamsError, messageOf } from '../errors.ts'
import { liveMembers, type LiveMember } from '../group/live-members.ts'

/** Between two looks, while somebody waits. */
const lookMs = 500

/** How long a broker has for the list of its transactions. */
const listTimeoutMs = 2000

/** What follows the application id in a transactional id of ours: process and number of the worker. */
const ofWorker = /^([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-(\d+)$/i

/** What an {@link AbandonedTransactions} is made of. */
export interface AbandonedTransactionsOptions {
  readonly client: KafkaClient
  readonly clock: Clock
  readonly log: Log
  readonly applicationId: string
  readonly groupProtocol: 'classic' | 'streams'
  /** Our own. */
  readonly processId: string
  /** Our own; it ends in our number when the process has several workers. */
  readonly clientId: string
  /** Our own. */
  readonly workerNumber: number
  readonly transactionTimeoutMs: number
}

/** A transaction that is open, and the worker whose it is. */
interface OpenTransaction {
  readonly transactionalId: string
  readonly processId: string
  readonly workerNumber: number
}

/**
 * Ends what a worker that is gone has left open: its process was killed, or it was a thread that was ended and
 * not replaced. Its transaction keeps readers of committed records from all that comes after it, in changelogs,
 * repartition topics and offsets of the group, until it times out: 10 s, and up to 10 s more until the
 * coordinator looks. A new owner would wait so long before it answers; Java's does.
 *
 * Transactional ids say whose they are: `<application>-<process>-<worker>`. Who is given tasks asks which are
 * open, and who is a member of the group: of other processes whether they have any, of the own one whether that
 * worker is, which its client id tells. A worker that is none was removed by the group, or has left: whatever it
 * still does is refused in its next commit. So its id is taken away from it, which aborts what is open. Fencing is
 * no question of truth: a transaction is either committed or not, and the offsets are in it. One that has just
 * come back is fenced at worst, and begins anew.
 */
export class AbandonedTransactions {
  readonly #options: AbandonedTransactionsOptions
  #looking: Promise<void> | undefined
  #nextLookAt = -Infinity
  /** The brokers do not tell: too old, or we have no right to ask. */
  #isRefused = false
  readonly #ended = new AbortController()

  constructor(options: AbandonedTransactionsOptions) {
    this.#options = options
  }

  /** Looks in the background, unless that was done just now. */
  look(): void {
    const now = this.#options.clock.monotonic()
    if (this.#looking !== undefined || this.#isRefused || this.#ended.signal.aborted) return
    if (now < this.#nextLookAt) return
    this.#nextLookAt = now + lookMs
    this.#looking = this.#end().finally(() => {
      this.#looking = undefined
    })
  }

  /** Looks at once, and again until what it returns is disposed. */
  keepLooking(): Disposable {
    const { clock } = this.#options
    let timer: Timer
    const look = (): void => {
      this.look()
      timer = clock.setTimer(lookMs, look)
    }
    look()
    return { [Symbol.dispose]: () => timer.cancel() }
  }

  /** Waits for what is under way. Never rejects. */
  async close(): Promise<void> {
    this.#ended.abort()
    await this.#looking
  }

  async #end(): Promise<void> {
    const { client, log, transactionTimeoutMs } = this.#options
    const { signal } = this.#ended
    try {
      for (const transactionalId of await this.#abandoned()) {
        log.info('ends the transaction of a worker that has left the group', { transactionalId })
        await fenceProducer(client, transactionalId, { transactionTimeoutMs, signal })
      }
    } catch (error) {
      if (signal.aborted) return
      const isOld = isStreamsError(error, 'PROTOCOL_UNSUPPORTED_VERSION')
      const isForbidden = kafkaErrorName(error)?.endsWith('AUTHORIZATION_FAILED') === true
      this.#isRefused = isOld || isForbidden
      // Whatever it was, without us they end by their timeout.
      log[isForbidden ? 'warn' : 'debug'](
        'transactions of dead processes are left to their timeout',
        {
          error: messageOf(error),
        },
      )
    }
  }

  /** Transactional ids with an open transaction, of workers that are no members of the group. */
  async #abandoned(): Promise<string[]> {
    const { client, applicationId: groupId, groupProtocol, processId } = this.#options
    const { signal } = this.#ended
    const ofOthers = await this.#openOfOthers()
    if (ofOthers.length === 0) return []
    // After the list: whoever has joined by then is seen.
    const live = (await liveMembers(client, { groupId, groupProtocol }, signal)) ?? []
    const processes = new Set(live.map((member) => member.processId))
    // Who is not told to be a member, of a group that we are said to be in, is none.
    if (!processes.has(processId)) return []
    const ownWorkers = this.#ownWorkers(live)
    const isAbandoned = ({ processId: owner, workerNumber }: OpenTransaction): boolean =>
      owner === processId ? ownWorkers?.has(workerNumber) === false : !processes.has(owner)
    return ofOthers.filter(isAbandoned).map(({ transactionalId }) => transactionalId)
  }

  async #openOfOthers(): Promise<OpenTransaction[]> {
    const { client, applicationId, processId, workerNumber } = this.#options
    const { signal } = this.#ended
    const prefix = `${applicationId}-`
    const open = await openTransactions(client, prefix, { timeoutMs: listTimeoutMs, signal })
    return open.flatMap((transactionalId) => {
      const [, owner, number] = ofWorker.exec(transactionalId.slice(prefix.length)) ?? []
      const isOwn = owner === processId && Number(number) === workerNumber
      if (owner === undefined || isOwn) return []
      return { transactionalId, processId: owner, workerNumber: Number(number) }
    })
  }

  /**
   * Numbers of the workers of our process that are members. Undefined: client ids do not tell, as those of static
   * members that have had other names.
   */
  #ownWorkers(live: readonly LiveMember[]): ReadonlySet<number> | undefined {
    const { processId, clientId, workerNumber } = this.#options
    const suffix = `-${workerNumber}`
    const isNumbered = clientId.endsWith(suffix)
    const prefix = isNumbered ? clientId.slice(0, -suffix.length) : clientId
    const numbers = new Set<number>()
    for (const member of live) {
      if (member.processId !== processId) continue
      if (member.clientId === clientId) numbers.add(workerNumber)
      else if (isNumbered && isNumberOf(prefix, member.clientId)) {
        numbers.add(Number(member.clientId.slice(prefix.length + 1)))
      } else return undefined
    }
    return numbers.has(workerNumber) ? numbers : undefined
  }
}

function isNumberOf(prefix: string, clientId: string): boolean {
  return clientId.startsWith(`${prefix}-`) && /^[1-9]\d*$/.test(clientId.slice(prefix.length + 1))
}

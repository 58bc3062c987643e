import type { KafkaStreams } from '../kafka-streams.ts'
import type { QueryableStore } from '../query/queryable-store.ts'
import type { AnyStore } from '../store/descriptor.ts'

/** A running instance with its HTTP service. Made by `serve`. */
export interface Service extends AsyncDisposable {
  /** `http://host:port` of the listener. */
  readonly url: string
  /** This instance alone; `streams.store` reads only what it holds, as Java's `store`. */
  readonly streams: KafkaStreams
  /**
   * Resolves when the service is closed; rejects with the error that stopped the instance (the port
   * then stays open and says so, until `close`).
   */
  readonly closed: Promise<void>
  /**
   * The whole application: a question for a key that another instance owns goes there. Throws
   * `OPERATION_NOT_ALLOWED` for what `expose` does not allow, since the instances ask each other
   * over HTTP.
   */
  store<D extends AnyStore>(descriptor: D): QueryableStore<D>
  /**
   * Not ready any more; then no new questions; then what was processed is committed and the tasks
   * are handed over. Idempotent.
   */
  close(): Promise<void>
}

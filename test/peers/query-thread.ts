/**
 * Runs in a worker thread: fills its stores, and answers questions about them at the port of `workerData`
 * until that is closed.
 */
import { workerData, type MessagePort } from 'node:worker_threads'
import { systemClock } from '../../src/base/clock.ts'
import { QueryResponder } from '../../src/query/query-responder.ts'
import { StoreInstance } from './store-instance.ts'
import { fillStores, threadStores } from './thread-stores.ts'

const { port, rows } = workerData as { port: MessagePort; rows: number }
const target = new StoreInstance(threadStores)
fillStores(target, rows)
new QueryResponder(port, { target, clock: systemClock }).tellHeld()

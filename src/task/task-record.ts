import { noHeaders, type RecordContext } from '../store/state-store.ts'
import type { RecordQueue } from './record-queue.ts'

/** The record at which a task is; before the first one: none. */
export class TaskRecord implements RecordContext {
  timestamp = -1
  offset = -1
  topic = ''
  partition = -1
  headers = noHeaders
  source: RecordContext['source'] = undefined

  /** What follows belongs to the head of a queue. */
  enter(queue: RecordQueue): void {
    this.timestamp = queue.headTimestamp
    this.offset = queue.headOffset
    this.topic = queue.topic
    this.partition = queue.partition
    this.headers = queue.headHeaders
    this.source = queue.headSource
  }

  /** What follows belongs to no record, and has this time. */
  leave(timestamp: number): void {
    this.timestamp = timestamp
    this.offset = -1
    this.topic = ''
    this.partition = -1
    this.headers = noHeaders
    this.source = undefined
  }
}

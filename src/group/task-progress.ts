import type { TaskId } from '../processor/record-metadata.ts'
import type { Reader } from '../protocol/reader.ts'
import type { Writer } from '../protocol/writer.ts'
import { progressRunning, type TaskProgress } from './membership.ts'
import { readTaskIds, writeTaskIds } from './task-ids.ts'

/** Offsets do not fit into the 32 bits of a varint: so many of the low bits go first. */
const lowBits = 2 ** 30

/** Writes how far tasks are: as a set of task ids, with the offset sum behind each. */
export function writeProgress(writer: Writer, progress: TaskProgress): void {
  writeTaskIds(writer, progress.keys(), (id) => {
    const sum = progress.get(id) ?? 0
    // Zero is a task that runs: there are many, and its sum is as good as the end of the changelogs.
    writeCount(writer, sum === progressRunning ? 0 : Math.max(0, sum) + 1)
  })
}

/** Reads what {@link writeProgress} wrote. */
export function readProgress(reader: Reader): TaskProgress {
  const progress = new Map<TaskId, number>()
  readTaskIds(reader, (id) => {
    const count = readCount(reader)
    progress.set(id, count === 0 ? progressRunning : count - 1)
  })
  return progress
}

function writeCount(writer: Writer, count: number): void {
  const high = Math.floor(count / lowBits)
  writer.uvarint((count % lowBits) * 2 + (high > 0 ? 1 : 0))
  if (high > 0) writer.uvarint(high)
}

function readCount(reader: Reader): number {
  const first = reader.uvarint()
  const low = Math.floor(first / 2)
  if (first % 2 === 0) return low
  const count = reader.uvarint() * lowBits + low
  return Number.isSafeInteger(count) ? count : reader.fail('an offset sum is out of bounds')
}

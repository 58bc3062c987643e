import { parseTaskId, taskId, type TaskId } from '../processor/record-metadata.ts'
import type { Reader } from '../protocol/reader.ts'
import type { Writer } from '../protocol/writer.ts'

/** In order, without repetitions. */
export function sortedTaskIds(ids: Iterable<TaskId>): TaskId[] {
  return sortedByTaskId(new Set(ids), (id) => id)
}

/**
 * In the order of their ids, which is Java's: by sub-topology, then by partition, both as numbers. Each
 * is parsed once: there may be many.
 */
export function sortedByTaskId<T>(all: Iterable<T>, idOf: (one: T) => TaskId): T[] {
  const parsed = Array.from(all, (one) => ({ one, id: parseTaskId(idOf(one)) }))
  parsed.sort((a, b) => a.id.subtopology - b.id.subtopology || a.id.partition - b.id.partition)
  return parsed.map(({ one }) => one)
}

/**
 * Writes a set of task ids in few bytes: for each sub-topology its distance from the one before, the
 * number of partitions, and the distance of each partition from the one before. A task of a full
 * sub-topology takes one byte. `writeMore` adds something behind each.
 */
export function writeTaskIds(
  writer: Writer,
  ids: Iterable<TaskId>,
  writeMore: (id: TaskId) => void = () => undefined,
): void {
  const groups = new Map<number, number[]>()
  for (const id of sortedTaskIds(ids)) {
    const { subtopology, partition } = parseTaskId(id)
    const group = groups.get(subtopology)
    if (group === undefined) groups.set(subtopology, [partition])
    else group.push(partition)
  }
  writer.uvarint(groups.size)
  let lastSubtopology = 0
  for (const [subtopology, partitions] of groups) {
    writer.uvarint(subtopology - lastSubtopology)
    writer.uvarint(partitions.length)
    lastSubtopology = subtopology
    let lastPartition = 0
    for (const partition of partitions) {
      writer.uvarint(partition - lastPartition)
      lastPartition = partition
      writeMore(taskId(subtopology, partition))
    }
  }
}

/** Reads what {@link writeTaskIds} wrote; in order. `readMore` reads what is behind each. */
export function readTaskIds(
  reader: Reader,
  readMore: (id: TaskId) => void = () => undefined,
): TaskId[] {
  const ids: TaskId[] = []
  const groupCount = boundedCount(reader)
  let subtopology = 0
  for (let group = 0; group < groupCount; group += 1) {
    subtopology += reader.uvarint()
    const partitionCount = boundedCount(reader)
    let partition = 0
    for (let index = 0; index < partitionCount; index += 1) {
      partition += reader.uvarint()
      const id = taskId(subtopology, partition)
      ids.push(id)
      readMore(id)
    }
  }
  return ids
}

/** Each element has at least one byte: a larger count is a lie that must not be looped over. */
export function boundedCount(reader: Reader): number {
  const count = reader.uvarint()
  return count <= reader.remaining
    ? count
    : reader.fail(`${count} elements in ${reader.remaining} bytes`)
}

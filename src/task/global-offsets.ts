import type { KvEngine } from '../kv/kv.ts'
import type { ByteTable } from '../store/byte-table.ts'
import { offsetTableName } from '../store/offset-table.ts'
import { plainFormat } from '../store/stored-value.ts'
import { WriteBehind } from '../store/write-behind.ts'

/**
 * How far each partition of each global topic is in the engine. A task has one changelog partition for
 * each store; a global store has all partitions of its topic. So these offsets are rows of their own,
 * which are committed and written together with the rows of the stores that they stand for. They
 * take the place of Kafka Streams' file `global/.checkpoint`.
 */
export class GlobalOffsets {
  readonly #table: ByteTable

  constructor(engine: KvEngine) {
    this.#table = WriteBehind.of(engine).table(offsetTableName, plainFormat)
  }

  /** The next offset to read; undefined: nothing of that partition is in the store. */
  get(input: { store: string; topic: string; partition: number }): number | undefined {
    const { key, text } = keyOf(input)
    const stored = this.#table.get(key, text)
    return stored === undefined ? undefined : Number(stored.value.readBigInt64BE())
  }

  /** Goes to the engine after {@link committed}. */
  put(input: { store: string; topic: string; partition: number }, offset: number): void {
    const { key, text } = keyOf(input)
    const value = Buffer.allocUnsafe(8)
    value.writeBigInt64BE(BigInt(offset))
    this.#table.put(key, text, value, -1)
  }

  /** What was put stands for rows that are committed in the same turn. */
  committed(): void {
    this.#table.committed(undefined)
  }

  writeBehind(): boolean {
    return this.#table.writeBehind()
  }

  close(): void {
    this.#table.close()
  }
}

/** A store may get another topic, or a topic another store: then nothing of it is there. */
function keyOf({ store, topic, partition }: { store: string; topic: string; partition: number }): {
  key: Buffer
  text: string
} {
  const text = `${store}/${topic}/${partition}`
  return { key: Buffer.from(text, 'latin1'), text }
}

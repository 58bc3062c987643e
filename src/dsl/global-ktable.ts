/**
 * A table that every instance of the application holds whole: all partitions of its topic, restored
 * before anything is processed and followed from then on. A stream joins it by any key that it can
 * work out, without a repartition topic. Made by `StreamsBuilder.globalTable`. Java's GlobalKTable.
 *
 * It costs each instance the memory or disk of the whole topic, and reading it again at each start
 * without a state directory. Joins see it as it is at the moment: it is not aligned with the stream by
 * time, as a table is.
 */
export interface GlobalKTable<K, V> {
  /** The store, which every instance can be asked for. */
  readonly queryableStoreName: string
  /** For types alone; there is no such property. */
  readonly '~types'?: { readonly key: K; readonly value: V }
}

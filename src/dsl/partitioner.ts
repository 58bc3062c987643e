/**
 * Chooses the partition of a record, from 0 to below `partitionCount`. Whoever looks a key up must
 * choose in the same way. Java's StreamPartitioner.
 */
export type Partitioner<K, V> = (topic: string, key: K, value: V, partitionCount: number) => number

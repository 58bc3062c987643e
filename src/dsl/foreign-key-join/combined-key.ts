/**
 * Keys of the subscription store: the length of the foreign key in 4 bytes, the foreign key, the
 * primary key. So the rows of a foreign key stand together
 * (org.apache.kafka.streams.kstream.internals.foreignkeyjoin.CombinedKeySchema).
 */
const lengthBytes = 4

/** The key of one row; of both keys as they are serialized. */
export function combinedKey(foreignKey: Uint8Array, primaryKey: Uint8Array): Buffer {
  const start = lengthBytes + foreignKey.length
  const key = Buffer.allocUnsafe(start + primaryKey.length)
  key.writeInt32BE(foreignKey.length)
  key.set(foreignKey, lengthBytes)
  key.set(primaryKey, start)
  return key
}

/** What the keys of all rows of a foreign key begin with. */
export function combinedKeyPrefix(foreignKey: Uint8Array): Buffer {
  const prefix = Buffer.allocUnsafe(lengthBytes + foreignKey.length)
  prefix.writeInt32BE(foreignKey.length)
  prefix.set(foreignKey, lengthBytes)
  return prefix
}

import { describe, expect, test } from 'vitest'
import { sealBatch } from '../protocol/record-batch-patch.ts'
import { batchPosition } from '../protocol/record-batch-layout.ts'
import { RecordBatchReader } from '../protocol/record-batch.ts'
import { RecordBatchBuilder, type BuildOptions } from '../protocol/record-builder.ts'
import { validateBatch, type ValidatedBatch } from './batch-validation.ts'
import { topicSettings } from './topic-configs.ts'

const plain = { producerId: -1, producerEpoch: -1, baseSequence: -1 }

function batchOf(keys: (string | null)[], options: Partial<BuildOptions> = {}): Buffer {
  const builder = new RecordBatchBuilder()
  for (const key of keys)
    builder.append(key === null ? null : Buffer.from(key), Buffer.from('v'), 1_000)
  return builder.build({ ...plain, ...options })
}

function validate(
  records: Buffer,
  configs: Record<string, string> = {},
  apiVersion = 9,
): ValidatedBatch {
  const settings = topicSettings(new Map(Object.entries(configs)), new Map())
  return validateBatch(records, { settings, nowMs: 2_000, apiVersion })
}

const errorOf = (result: ValidatedBatch): string =>
  result.kind === 'refused' ? result.error : 'accepted'

describe('validateBatch', () => {
  test('a sound batch is accepted as it is, with the facts of its header', () => {
    const batch = batchOf(['a', 'b'], { producerId: 3, producerEpoch: 1, baseSequence: 7 })
    const result = validate(batch)
    expect(result).toEqual({
      kind: 'accepted',
      batch,
      facts: {
        lastOffsetDelta: 1,
        recordCount: 2,
        maxTimestamp: 1_000,
        producerId: 3,
        producerEpoch: 1,
        baseSequence: 7,
        isTransactional: false,
        logAppendTimeMs: -1,
      },
    })
    expect(result.kind === 'accepted' && result.batch === batch).toBe(true)
  })

  test('headers that contradict themselves are refused, although their checksum is right', () => {
    const changed = (change: (batch: Buffer) => void): string => {
      const batch = batchOf(['a', 'b'])
      change(batch)
      sealBatch(batch)
      return errorOf(validate(batch))
    }
    expect(changed(() => undefined)).toBe('accepted')
    expect(changed((batch) => batch.writeInt32BE(5, batchPosition.lastOffsetDelta))).toBe(
      'INVALID_RECORD',
    )
    expect(changed((batch) => batch.writeInt32BE(1, batchPosition.recordCount))).toBe(
      'INVALID_RECORD',
    )
    expect(changed((batch) => batch.writeInt32BE(9, batchPosition.baseOffset + 4))).toBe(
      'INVALID_RECORD',
    )
    expect(changed((batch) => batch.writeInt32BE(8, batchPosition.producerId + 4))).toBe('accepted')
    expect(
      changed((batch) => batch.fill(0, batchPosition.producerId, batchPosition.producerId + 8)),
    ).toBe('INVALID_RECORD')
    // The first record says that it is longer than the batch.
    expect(changed((batch) => batch.writeUInt8(0x7e, batchPosition.records))).toBe(
      'CORRUPT_MESSAGE',
    )
    // The second record has the offset of the first.
    expect(changed((batch) => batch.writeUInt8(0, batch.length - 6))).toBe('INVALID_RECORD')
  })

  test('control records and the time of the append are not for producers to write', () => {
    expect(errorOf(validate(batchOf(['a'], { isControl: true })))).toBe('INVALID_RECORD')
    const logAppend = batchOf(['a'], { timestampType: 'log-append' })
    expect(errorOf(validate(logAppend))).toBe('INVALID_TIMESTAMP')
    expect(errorOf(validate(logAppend, { 'message.timestamp.type': 'LogAppendTime' }))).toBe(
      'accepted',
    )
  })

  test('an old batch is refused where the topic says so', () => {
    const before = { 'message.timestamp.before.max.ms': '999' }
    expect(errorOf(validate(batchOf(['a']), before))).toBe('INVALID_TIMESTAMP')
    expect(errorOf(validate(batchOf(['a']), { 'message.timestamp.before.max.ms': '1000' }))).toBe(
      'accepted',
    )
  })

  test('a record without a key is for topics that are not compacted', () => {
    const compacted = { 'cleanup.policy': 'compact,delete' }
    for (const compression of ['none', 'gzip', 'lz4', 'snappy'] as const) {
      const batch = (): Buffer => batchOf(['a', null], { compression })
      expect(errorOf(validate(batch()))).toBe('accepted')
      expect(errorOf(validate(batch(), compacted))).toBe('INVALID_RECORD')
      expect(errorOf(validate(batchOf(['a'], { compression }), compacted))).toBe('accepted')
    }
  })

  test('zstd is for clients that know it', () => {
    const batch = batchOf(['a'])
    batch.writeInt16BE(4, batchPosition.attributes)
    sealBatch(batch)
    expect(errorOf(validate(batch, {}, 6))).toBe('UNSUPPORTED_COMPRESSION_TYPE')
    expect(errorOf(validate(batch, {}, 7))).toBe('accepted')
  })

  test('a batch that is compressed anew keeps its records, producer and times', () => {
    const batch = batchOf(['a', 'b'], { producerId: 3, producerEpoch: 1, baseSequence: 7 })
    const result = validate(batch, { 'compression.type': 'gzip' })
    const reader = new RecordBatchReader()
    reader.reset(result.kind === 'accepted' ? result.batch : Buffer.alloc(0))
    expect(reader.nextBatch()).toBe(true)
    expect([reader.compression, reader.producerId, reader.baseSequence]).toEqual(['gzip', 3, 7])
    expect([reader.next(), reader.keyString(), reader.timestamp]).toEqual([true, 'a', 1_000])
    expect([reader.next(), reader.keyString(), reader.next()]).toEqual([true, 'b', false])
  })
})

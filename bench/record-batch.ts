/**
 * How fast one core decodes and encodes record batches: 1,000 records a batch, 11-byte keys, 100-byte
 * values, uncompressed, CRC verified and computed. Prints one JSON line, in records a second; the best of
 * several rounds counts, because other work on the machine only ever makes a round slower.
 *
 *     npx tsx bench/record-batch.ts
 */
import { RecordBatchReader } from '../src/protocol/record-batch.ts'
import { RecordBatchBuilder } from '../src/protocol/record-builder.ts'

const recordsPerBatch = 1000
const batchesPerRound = 10
const rounds = 400
const producer = { producerId: -1, producerEpoch: -1, baseSequence: -1 }
const startTimestamp = 1_700_000_000_000

const keyTexts = Array.from(
  { length: recordsPerBatch },
  (_, i) => `key-${String(i).padStart(7, '0')}`,
)
const keys = keyTexts.map((text) => Buffer.from(text))
const values = keyTexts.map((_, i) => Buffer.alloc(100, `value ${i} `))

const builder = new RecordBatchBuilder()
const reader = new RecordBatchReader()

function encode(): Buffer {
  builder.reset()
  for (let i = 0; i < recordsPerBatch; i += 1) {
    builder.append(keys[i] ?? null, values[i] ?? null, startTimestamp + i)
  }
  return builder.build(producer)
}

function encodeStringKeys(): Buffer {
  builder.reset()
  for (let i = 0; i < recordsPerBatch; i += 1) {
    builder.appendStringKey(keyTexts[i] ?? '', values[i] ?? null, startTimestamp + i)
  }
  return builder.build(producer)
}

const batch = encode()

/** Adds up what was read, so that no read can be left out. */
let sum = 0

function decode(): void {
  reader.reset(batch)
  while (reader.nextBatch()) {
    while (reader.next()) sum += reader.offset + reader.keyEnd
  }
}

function decodeKeyString(): void {
  reader.reset(batch)
  while (reader.nextBatch()) {
    while (reader.next()) sum += reader.keyString()?.length ?? 0
  }
}

function decodeKeyStringAndValue(): void {
  reader.reset(batch)
  while (reader.nextBatch()) {
    while (reader.next()) sum += (reader.keyString()?.length ?? 0) + (reader.value()?.length ?? 0)
  }
}

const cases = { decode, decodeKeyString, decodeKeyStringAndValue, encode, encodeStringKeys }

/** Records a second in the best round of each case; the rounds take turns, so that all meet the same noise. */
function measure(): Record<keyof typeof cases, number> {
  const best = new Map<string, number>()
  for (let round = 0; round < rounds; round += 1) {
    for (const [name, run] of Object.entries(cases)) {
      const start = process.hrtime.bigint()
      for (let i = 0; i < batchesPerRound; i += 1) run()
      const elapsed = Number(process.hrtime.bigint() - start)
      best.set(name, Math.min(best.get(name) ?? Infinity, elapsed))
    }
  }
  const rate = (name: keyof typeof cases): number =>
    Math.round((recordsPerBatch * batchesPerRound * 1e9) / (best.get(name) ?? Infinity))
  return {
    decode: rate('decode'),
    decodeKeyString: rate('decodeKeyString'),
    decodeKeyStringAndValue: rate('decodeKeyStringAndValue'),
    encode: rate('encode'),
    encodeStringKeys: rate('encodeStringKeys'),
  }
}

const measured = measure()
if (!Number.isSafeInteger(sum)) throw new Error('the benchmark read nonsense')
console.log(JSON.stringify({ bench: 'record-batch', ...measured, node: process.versions.node }))

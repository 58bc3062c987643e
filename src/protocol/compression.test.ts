import zlib from 'node:zlib'
import { describe, expect, test } from 'vitest'
import { isStreamsError } from '../errors.ts'
import { compress, compressions, decompress, type Compression } from './compression.ts'

const hasZstd = 'zstdCompressSync' in zlib
const available = compressions.filter((codec) => codec !== 'zstd' || hasZstd)
const bytesMax = 1 << 20

const open = (codec: Compression, bytes: Uint8Array, limit = bytesMax): Buffer =>
  decompress(codec, bytes, { bytesMax: limit, offset: 42 })

/** The detail of the RECORD_BATCH_CORRUPT at offset 42 that must come. */
function corruption(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (!isStreamsError(error, 'RECORD_BATCH_CORRUPT') || error.context['offset'] !== 42)
      throw error
    return String(error.context['detail'])
  }
  return expect.unreachable('nothing was thrown')
}

const text = Buffer.from('a stream, held, so that its force can be used; '.repeat(3000))

describe.each(available)('%s', (codec) => {
  test.each([0, 1, 100, 32 * 1024, 32 * 1024 + 1, text.length])('gives back %i bytes', (length) => {
    const bytes = text.subarray(0, length)
    expect(open(codec, compress(codec, bytes)).equals(bytes)).toBe(true)
  })

  test('takes plain Uint8Arrays and views', () => {
    const plain = new Uint8Array(text.subarray(5, 5000))
    const compressed = new Uint8Array(compress(codec, plain))
    expect(open(codec, compressed).equals(plain)).toBe(true)
  })

  if (codec === 'none') return

  test('makes text smaller', () => {
    expect(compress(codec, text).length).toBeLessThan(text.length / 10)
  })

  test('is refused where it would exceed the limit', () => {
    const compressed = compress(codec, text)
    expect(corruption(() => open(codec, compressed, 1000))).toMatch(
      new RegExp(`^the ${codec} data cannot be decompressed: .*1000 bytes`),
    )
  })

  test('cut off anywhere is corrupt', () => {
    const compressed = compress(codec, text.subarray(0, 3000))
    for (let length = 0; length < compressed.length; length += 1) {
      // A xerial stream that ends after a frame is whole: the record count tells what is missing.
      if (codec === 'snappy' && length === 16) continue
      expect(corruption(() => open(codec, compressed.subarray(0, length)))).toContain(codec)
    }
  })
})

test.each(available.filter((codec) => codec !== 'none' && codec !== 'lz4'))(
  '%s is taken at exactly the limit',
  (codec) => {
    expect(open(codec, compress(codec, text), text.length)).toHaveLength(text.length)
  },
)

test('lz4 is taken when no block can exceed the limit, whatever it holds', () => {
  const compressed = compress('lz4', text)
  expect(open('lz4', compressed, compressed.length * 255)).toHaveLength(text.length)
})

test('snappy is framed as snappy-java frames it', () => {
  const compressed = compress('snappy', Buffer.from('a'))
  // Header of 16 bytes, frame length 3, then raw snappy: size 1, literal of one byte, 'a'.
  expect(compressed.toString('hex')).toBe('82534e4150505900000000010000000100000003010061')
})

test('raw snappy, as librdkafka writes it, is read', () => {
  expect(open('snappy', Buffer.from('010061', 'hex')).toString()).toBe('a')
})

test('a snappy size that the bytes cannot have is refused before memory is taken', () => {
  const claim = Buffer.from('ffffffff0700', 'hex')
  expect(corruption(() => open('snappy', claim, 2 ** 31))).toContain(
    'the stated size is impossible',
  )
})

test('an lz4 content size above the limit is refused before memory is taken', () => {
  const frame = Buffer.from('04224d186870ffffffffffffff7f0000000000', 'hex')
  expect(corruption(() => open('lz4', frame))).toContain('larger than the limit of 1048576 bytes')
})

test('a gzip bomb is refused at the limit', () => {
  const bomb = zlib.gzipSync(Buffer.alloc(16 << 20))
  expect(corruption(() => open('gzip', bomb))).toContain('1048576 bytes')
})

test.runIf(!hasZstd)('zstd names the Node version that it needs', () => {
  for (const run of [() => compress('zstd', text), () => open('zstd', text)]) {
    expect(run).toThrow(
      expect.objectContaining({
        code: 'COMPRESSION_UNAVAILABLE',
        message: expect.stringContaining('zstd needs Node 22.15 or newer') as string,
      }),
    )
  }
})

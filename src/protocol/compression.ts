/**
 * The codecs of record batches. Native code is loaded at its first use. What is decompressed came from the
 * network, so its size is bounded before memory is taken for it.
 */
import { asBuffer } from '../base/bytes.ts'
import { createRequire } from 'node:module'
import zlib from 'node:zlib'
import { messageOf, StreamsError } from '../errors.ts'
import { checkLz4Frame } from './compression-lz4.ts'
import { checkZstdFrames } from './compression-zstd.ts'
import { compressSnappy, decompressSnappy, type SnappyCodec } from './compression-snappy.ts'

/** How the records of a batch are compressed; `compression.type` in Kafka's configuration. */
export type Compression = 'none' | 'gzip' | 'snappy' | 'lz4' | 'zstd'

/** By the id in the lowest three bits of a batch's attributes. */
export const compressions: readonly Compression[] = ['none', 'gzip', 'snappy', 'lz4', 'zstd']

/**
 * Default of the bound on what one batch may decompress to, in bytes. A broker accepts batches of 1 MiB
 * (`message.max.bytes`), of which text rarely makes more than 20 MiB.
 */
export const decompressedBytesMaxDefault = 256 * 1024 * 1024

interface Lz4Module {
  compressFrameSync(input: Uint8Array): Buffer
  decompressFrameSync(input: Uint8Array): Buffer
}

/** What `node:zlib` has from Node 22.15 on. */
type ZstdFunction = (input: Uint8Array, options?: { maxOutputLength: number }) => Buffer

let snappyModule: SnappyCodec | undefined
let lz4Module: Lz4Module | undefined

/**
 * Compresses the records of one batch.
 *
 * @throws StreamsError `COMPRESSION_UNAVAILABLE` when the codec does not exist on this Node or platform.
 */
export function compress(compression: Compression, bytes: Uint8Array): Buffer {
  switch (compression) {
    case 'none':
      return asBuffer(bytes)
    case 'gzip':
      return zlib.gzipSync(bytes)
    case 'snappy':
      return compressSnappy(snappy(), bytes)
    case 'lz4':
      return lz4().compressFrameSync(bytes)
    case 'zstd':
      return zstd('zstdCompressSync')(bytes)
    default:
      return compression satisfies never
  }
}

/** What {@link decompress} must know besides the bytes. */
export interface DecompressOptions {
  /** Most bytes that may come out. */
  readonly bytesMax: number
  /** Base offset of the batch, for error messages. */
  readonly offset: number
}

/**
 * Decompresses the records of one batch.
 *
 * @throws StreamsError `RECORD_BATCH_CORRUPT` when the bytes are malformed or would exceed `bytesMax`;
 *   `COMPRESSION_UNAVAILABLE` when the codec does not exist on this Node or platform.
 */
export function decompress(
  compression: Compression,
  bytes: Uint8Array,
  options: DecompressOptions,
): Buffer {
  // Loading comes first: that a codec is missing says nothing about the bytes.
  const codec = decompressor(compression)
  try {
    return codec(bytes, options.bytesMax)
  } catch (error) {
    const detail = `the ${compression} data cannot be decompressed: ${messageOf(error)}`
    throw new StreamsError(
      'RECORD_BATCH_CORRUPT',
      { offset: options.offset, detail },
      { cause: error },
    )
  }
}

function decompressor(compression: Compression): (bytes: Uint8Array, bytesMax: number) => Buffer {
  switch (compression) {
    case 'none':
      return asBuffer
    case 'gzip':
      return (bytes, bytesMax) => zlib.gunzipSync(bytes, { maxOutputLength: bytesMax })
    case 'snappy': {
      const codec = snappy()
      return (bytes, bytesMax) => decompressSnappy(codec, bytes, bytesMax)
    }
    case 'lz4': {
      const codec = lz4()
      return (bytes, bytesMax) => {
        checkLz4Frame(bytes, bytesMax)
        return codec.decompressFrameSync(bytes)
      }
    }
    case 'zstd': {
      const zstdDecompress = zstd('zstdDecompressSync')
      return (bytes, bytesMax) => {
        checkZstdFrames(bytes)
        return zstdDecompress(bytes, { maxOutputLength: bytesMax })
      }
    }
    default:
      return compression satisfies never
  }
}

function snappy(): SnappyCodec {
  snappyModule ??= load('snappy', 'snappy') as SnappyCodec
  return snappyModule
}

function lz4(): Lz4Module {
  lz4Module ??= load('lz4', 'lz4-napi') as Lz4Module
  return lz4Module
}

function load(codec: Compression, name: string): unknown {
  try {
    return createRequire(import.meta.url)(name)
  } catch (cause) {
    const detail = `the package ${name} does not load: ${messageOf(cause)}`
    throw new StreamsError('COMPRESSION_UNAVAILABLE', { codec, detail }, { cause })
  }
}

function zstd(name: 'zstdCompressSync' | 'zstdDecompressSync'): ZstdFunction {
  const found = (zlib as Partial<Record<typeof name, ZstdFunction>>)[name]
  if (found !== undefined) return found
  throw new StreamsError('COMPRESSION_UNAVAILABLE', {
    codec: 'zstd',
    detail: `zstd needs Node 22.15 or newer, this is ${process.version}`,
  })
}

import { describe, expect, test } from 'vitest'
import { StreamsError } from '../errors.ts'
import { FrameBuffer } from './frame-buffer.ts'

/** `abc` as a frame. */
const frame = (text: string): Buffer => {
  const bytes = Buffer.alloc(4 + text.length)
  bytes.writeInt32BE(text.length, 0)
  bytes.write(text, 4)
  return bytes
}

function takeAll(frames: FrameBuffer): string[] {
  const taken: string[] = []
  for (let next = frames.next(); next !== undefined; next = frames.next())
    taken.push(next.toString())
  return taken
}

describe('FrameBuffer', () => {
  test('frames come out whole, however the stream was cut', () => {
    const stream = Buffer.concat(['first', '', 'x'.repeat(300), 'last'].map(frame))
    for (const chunkBytes of [1, 2, 3, 7, 100, 1_000]) {
      const frames = new FrameBuffer(1_000)
      const taken: string[] = []
      for (let at = 0; at < stream.length; at += chunkBytes) {
        frames.push(stream.subarray(at, at + chunkBytes))
        taken.push(...takeAll(frames))
      }
      expect(taken).toEqual(['first', '', 'x'.repeat(300), 'last'])
      expect(frames.bytes).toBe(0)
    }
  })

  test('a size that is negative or too large is refused as soon as it is there', () => {
    for (const size of [-1, 1_001, 0x7fff_ffff]) {
      const frames = new FrameBuffer(1_000)
      const bytes = Buffer.alloc(4)
      bytes.writeInt32BE(size)
      frames.push(bytes)
      expect(() => frames.next()).toThrow(StreamsError)
    }
  })
})

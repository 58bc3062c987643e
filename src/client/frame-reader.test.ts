import { array, assert, integer, property } from 'fast-check'
import { describe, expect, test } from 'vitest'
import { FrameReader } from './frame-reader.ts'

function frame(text: string): Buffer {
  const bytes = Buffer.alloc(4 + text.length)
  bytes.writeInt32BE(text.length, 0)
  bytes.write(text, 4, 'latin1')
  return bytes
}

function collector(frameBytesMax = 1000): { reader: FrameReader; frames: string[] } {
  const frames: string[] = []
  const reader = new FrameReader({
    peer: 'a:1',
    frameBytesMax,
    onFrame: (bytes) => frames.push(bytes.toString('latin1')),
  })
  return { reader, frames }
}

describe('FrameReader', () => {
  test('however the bytes are cut, the frames are the same', () => {
    const sent = ['abcd', 'a longer frame', 'wxyz', 'x'.repeat(300)]
    const stream = Buffer.concat(sent.map(frame))
    assert(
      property(array(integer({ min: 1, max: 64 }), { minLength: 1 }), (cuts) => {
        const { reader, frames } = collector()
        let position = 0
        for (let index = 0; position < stream.length; index += 1) {
          const length = cuts[index % cuts.length] ?? 1
          reader.push(stream.subarray(position, position + length))
          position += length
        }
        expect(frames).toEqual(sent)
        expect(reader.isInsideFrame).toBe(false)
      }),
    )
  })

  test('a size above the bound is refused before anything is allocated', () => {
    const { reader } = collector(100)
    const bytes = Buffer.from([0x7f, 0xff, 0xff, 0xff])
    expect(() => reader.push(bytes)).toThrowError(/2147483647 bytes are claimed, between 4 and 100/)
  })

  test('a negative size, and one too small for a correlation id, are refused', () => {
    expect(() => collector().reader.push(Buffer.from([0xff, 0xff, 0xff, 0xff]))).toThrowError(
      /-1 bytes are claimed/,
    )
    expect(() => collector().reader.push(Buffer.from([0, 0, 0, 3]))).toThrowError(
      /3 bytes are claimed/,
    )
  })

  test('it knows when a frame is incomplete', () => {
    const { reader } = collector()
    reader.push(Buffer.from([0, 0]))
    expect(reader.isInsideFrame).toBe(true)
    reader.push(Buffer.from([0, 4, 1]))
    expect(reader.isInsideFrame).toBe(true)
    reader.push(Buffer.from([2, 3, 4]))
    expect(reader.isInsideFrame).toBe(false)
  })

  test('after stop nothing comes, not even from the chunk at hand', () => {
    const frames: string[] = []
    const reader = new FrameReader({
      peer: 'a:1',
      frameBytesMax: 100,
      onFrame: (bytes) => {
        frames.push(bytes.toString())
        reader.stop()
      },
    })
    reader.push(Buffer.concat([frame('abcd'), frame('efgh')]))
    reader.push(frame('ijkl'))
    expect(frames).toEqual(['abcd'])
  })
})

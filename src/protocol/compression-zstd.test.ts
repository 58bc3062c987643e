import { describe, expect, test } from 'vitest'
import { checkZstdFrames } from './compression-zstd.ts'

/** What the zstd 1.5.7 of Node 22.23 makes of 6,000 letters, of 300,000 zeros and of nothing. */
const frames: Readonly<Record<string, string>> = {
  letters: '28b52ffd6070167500003061626364656601006797be1401',
  'letters, with a checksum': '28b52ffd6470167500003061626364656601006797be1401d462e1bd',
  'letters, without a size': '28b52ffd00187500003061626364656601006797be1401',
  zeros: '28b52ffda0e09304005400001000000100fbff39c00202001000039f0400',
  'zeros, with a checksum': '28b52ffda4e09304004c000008000100fcff39100202001000039f04002d28de26',
  nothing: '28b52ffd2000010000',
  'nothing, with a checksum': '28b52ffd240001000099e9d851',
  'nothing, without a size': '28b52ffd0000010000',
}

const bytesOf = (hex: string): Buffer => Buffer.from(hex, 'hex')

describe.each(Object.entries(frames))('%s', (_name, hex) => {
  const frame = bytesOf(hex)

  test('is whole', () => {
    expect(() => checkZstdFrames(frame)).not.toThrow()
  })

  test('is not whole when it is cut off anywhere', () => {
    for (let length = 0; length < frame.length; length += 1) {
      expect(() => checkZstdFrames(frame.subarray(0, length))).toThrow(
        /^(no Zstandard frame|the frame is cut off)$/,
      )
    }
  })

  test('is whole with other frames around it', () => {
    const skipped = bytesOf('5d2a4d1803000000010203')
    expect(() => checkZstdFrames(Buffer.concat([skipped, frame, frame, skipped]))).not.toThrow()
    const cut = Buffer.concat([frame, skipped]).subarray(0, -1)
    expect(() => checkZstdFrames(cut)).toThrow('the frame is cut off')
  })
})

test('what is no frame is told', () => {
  expect(() => checkZstdFrames(Buffer.from('hello'))).toThrow('no Zstandard frame')
  expect(() => checkZstdFrames(bytesOf('28b52ffd0058070000'))).toThrow('a block has no type')
})

import { expect, test } from 'vitest'
import { crc32c, tableCrc32c } from './crc32c.ts'

const counting = Buffer.from(Array.from({ length: 256 }, (_, i) => i))

/** RFC 3720, appendix B.4; the check value of the polynomial; and java.util.zip.CRC32C. */
const vectors: [string, Buffer, number][] = [
  ['nothing', Buffer.alloc(0), 0],
  ['one zero', Buffer.alloc(1), 1383945041],
  ['123456789', Buffer.from('123456789'), 0xe306_9283],
  ['32 zeros', Buffer.alloc(32), 0x8a91_36aa],
  ['32 ones', Buffer.alloc(32, 0xff), 0x62a8_ab43],
  ['32 ascending', counting.subarray(0, 32), 0x46dd_794e],
  ['256 ascending', counting, 2621708363],
]

test.each(vectors)('%s has the known checksum, native and by table', (_name, bytes, expected) => {
  expect(crc32c(bytes)).toBe(expected)
  expect(tableCrc32c(bytes, 0, bytes.length)).toBe(expected)
})

test('a checksum is of the bytes between its bounds', () => {
  const bytes = Buffer.concat([Buffer.from('xy'), counting, Buffer.from('z')])
  expect(crc32c(bytes, 2, 258)).toBe(2621708363)
  expect(crc32c(bytes, 2, 34)).toBe(0x46dd_794e)
  expect(tableCrc32c(bytes, 2, 258)).toBe(2621708363)
})

test('both ways agree on both sides of the length where one takes over from the other', () => {
  for (let length = 120; length < 140; length += 1) {
    expect(crc32c(counting, 0, length)).toBe(tableCrc32c(counting, 0, length))
  }
})

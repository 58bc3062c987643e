import { describe, expect, test } from 'vitest'
import { murmur3Hash128 } from './murmur3.ts'

/** Of 0, 1, 2 … bytes as below, by Kafka Streams 4.4.0's Murmur3#hash128. */
const hashes = [
  '9d2764a018e329428c3cf3b035938518',
  'a04116a8ea130c2064af89d3eb9703d1',
  '4780403bbe6931444c20cd5c27ef3cd7',
  'a33d66b13b8ec156d78fb3f21bb5075d',
  '0e18a93a0f9eaf3c05cce0d2dc34ccc5',
  '172b0a1dea27869d4a322d6e8d74dd22',
  '8664f64b5f26baf80f2f8f0ef28dd2f2',
  '4f66129d018da90b04dc0e45427cba9c',
  '489e80bb663f0ff950d3bfa977f3e227',
  '0e6d06218fba4aedeb28629e17ef4069',
  '96039eec0ccba9ac885e54bdb6f86253',
  'b7eb4cbf86d217bad42a1f6e6516e9a9',
  'f370a6d942c7ba3b190810e0ee136bb4',
  'fe5dde20d43279c1080c38e9b796edf1',
  'bfb7d2c7c36971a20630a43cb892b046',
  'ff192b883fe0a26daf58dabb5ab39f43',
  '47ac0c84dbdee98c95e813d263dc43e8',
  '7239c265ac81f716370f845a779bc4b7',
  '65a85d4c4ac0311cd1aea5c838facc15',
  'ff11d7a5d81ff880769449d695c28ef3',
  '6ab6e8d7765230cbc7a779cf1d53efc6',
  '33af80bf6521c7f3a836a8ad6cdae5ae',
  '29d3a96ef14d00145b052c2bae62b99f',
  '3f1933d624161bb97093c6a89d87a7a8',
  'eedc83699423ac13cf195a9d30604c11',
  'ccbb3c1a12773a1f733cdac1e37195c4',
  'd1032b9e45b70f5f99ef617dfaa00fec',
  '7175632f80435f71b442c7554eee9773',
  'fb35a55a0d0255a18f85327018cb1c6a',
  '5ee9bae2bd8c376cc77bbb65a163e451',
  '78805c4b5540ea3adf53f1c99d45ad2f',
  '7c8436049eda7a38a6f4c5ca944501a3',
  '269ef501e4e217d71cb695fc91ebbfa1',
  '2eccf31fe49dcc9debcdb6b306d5b0fa',
  '78c49b64f60979d839bf1e8d92bbefda',
  'e324b6cc9252d73bfba3dee8049bc322',
  'fba6d195454377ce8cba3f2dc5b80ec1',
  '65636b33f6afb4b39ebb6f8846cb02a3',
  'd888dd9b4b79e695ba5b25eda2b72990',
  'e868516d2e148968ab08c2d48586da2d',
  '1677af022c1d723b8f97ef761a53d543',
]

describe('the 128-bit Murmur3 hash', () => {
  test('is that of Kafka Streams, for all lengths of a tail', () => {
    const hashed = hashes.map((_hash, length) => {
      const bytes = Uint8Array.from({ length }, (_byte, index) => index * 37 + length)
      return murmur3Hash128(bytes).toString('hex')
    })

    expect(hashed).toEqual(hashes)
  })

  test('reads bytes without a sign', () => {
    const bytes = new Uint8Array(33).fill(0xff)

    expect(murmur3Hash128(bytes).toString('hex')).toBe('280c62c96821a98c5fad8bf292e239cf')
  })
})

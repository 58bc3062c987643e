import { expect, test } from 'vitest'
import { apis } from './apis.ts'
import {
  decodeRequestHeader,
  decodeResponseHeader,
  encodeRequestHeader,
  encodeResponseHeader,
  requestHeaderVersion,
  responseHeaderVersion,
} from './header.ts'
import { heartbeat } from './messages/12-heartbeat.ts'
import { saslHandshake } from './messages/17-sasl-handshake.ts'
import { apiVersions } from './messages/18-api-versions.ts'
import { Reader } from './reader.ts'
import { Writer } from './writer.ts'

test('the header is flexible from the version on in which the API is', () => {
  expect(requestHeaderVersion(heartbeat, 3)).toBe(1)
  expect(requestHeaderVersion(heartbeat, 4)).toBe(2)
  expect(responseHeaderVersion(heartbeat, 3)).toBe(0)
  expect(responseHeaderVersion(heartbeat, 4)).toBe(1)
  expect(requestHeaderVersion(saslHandshake, 1)).toBe(1)
})

test('the response header of ApiVersions is never flexible', () => {
  expect(requestHeaderVersion(apiVersions, 3)).toBe(2)
  expect(responseHeaderVersion(apiVersions, 3)).toBe(0)
})

test('a request header has key, version, correlation id, client id and, if flexible, tags', () => {
  const writer = new Writer()
  encodeRequestHeader(heartbeat, 3, { correlationId: 77, clientId: 'ab' }, writer)
  expect(writer.finish().toString('hex')).toBe(['000c', '0003', '0000004d', '00026162'].join(''))
  writer.reset()
  encodeRequestHeader(heartbeat, 4, { correlationId: 77, clientId: null }, writer)
  expect(writer.finish().toString('hex')).toBe(['000c', '0004', '0000004d', 'ffff', '00'].join(''))
})

test('a request header is read with unknown tags passed over', () => {
  const reader = new Reader(
    Buffer.from(['000c00040000004d00026162', '0105020708', '2a'].join(''), 'hex'),
  )
  expect(decodeRequestHeader(apis, reader)).toEqual({
    apiKey: 12,
    apiVersion: 4,
    correlationId: 77,
    clientId: 'ab',
  })
  expect(reader.int8()).toBe(42)
})

test('the header of a version that is not known yet can be read, to refuse it', () => {
  const reader = new Reader(Buffer.from(['0012', '0063', '00000007', 'ffff', '00'].join(''), 'hex'))
  expect(decodeRequestHeader(apis, reader)).toEqual({
    apiKey: 18,
    apiVersion: 99,
    correlationId: 7,
    clientId: null,
  })
})

test('an unknown API is refused', () => {
  const reader = new Reader(Buffer.from(['03e7', '0001', '00000007', 'ffff'].join(''), 'hex'))
  expect(() => decodeRequestHeader(apis, reader)).toThrow(
    expect.objectContaining({
      code: 'PROTOCOL_UNSUPPORTED_VERSION',
      message: 'Version 1 of the API with key 999 is not supported.',
    }),
  )
})

test('a response header has the correlation id and, if flexible, tags', () => {
  const writer = new Writer()
  encodeResponseHeader(heartbeat, 3, -1, writer)
  encodeResponseHeader(heartbeat, 4, 77, writer)
  encodeResponseHeader(apiVersions, 4, 78, writer)
  expect(writer.finish().toString('hex')).toBe(['ffffffff', '0000004d00', '0000004e'].join(''))
  const reader = new Reader(writer.finish())
  expect(decodeResponseHeader(heartbeat, 3, reader)).toBe(-1)
  expect(decodeResponseHeader(heartbeat, 4, reader)).toBe(77)
  expect(decodeResponseHeader(apiVersions, 4, reader)).toBe(78)
  expect(reader.remaining).toBe(0)
})

test('a header cut short anywhere is malformed', () => {
  const whole = Buffer.from(['000c00040000004d00026162', '00'].join(''), 'hex')
  for (let length = 0; length < whole.length; length += 1) {
    const reader = new Reader(whole.subarray(0, length))
    expect(() => decodeRequestHeader(apis, reader)).toThrow(
      expect.objectContaining({ code: 'PROTOCOL_MALFORMED' }),
    )
  }
})

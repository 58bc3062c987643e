import { hex } from './formats.ts'

const deadLetterPrefix = '__streams.errors.'
const ownMessage = Buffer.from('failed ')

/**
 * How a header is compared: each language has its own names and messages of errors, and its own traces.
 * The messages of what fails on purpose are the same.
 */
export function shownHeader([name, value]: readonly [name: string, value: Buffer | null]): string {
  if (value === null) return name
  switch (name) {
    case `${deadLetterPrefix}exception`:
    case `${deadLetterPrefix}stacktrace`:
      return `${name}=*`
    case `${deadLetterPrefix}message`:
      return value.subarray(0, ownMessage.length).equals(ownMessage)
        ? `${name}=${hex(value)}`
        : `${name}=*`
    default:
      return `${name}=${hex(value)}`
  }
}

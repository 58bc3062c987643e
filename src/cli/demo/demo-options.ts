import { InvalidArgumentError } from 'commander'

/** The options of `millpond demo`. */
export interface DemoOptions {
  /** Paths, `-` for standard input; empty: the project's own documentation, over and over. */
  readonly input: readonly string[]
  readonly instances: number
  /** HTTP port of the first instance; the others follow. 0: any free ports. */
  readonly port: number
  /** Lines a second; undefined: as fast as it goes. */
  readonly rate?: number
  /** Undefined: a temporary directory that is removed at the end. */
  readonly dataDir?: string
  /** Ends when the input is read and counted, and prints the most frequent words. */
  readonly once: boolean
}

/** Instances of one demo: each is a process. */
export const instancesMax = 16

/**
 * After so many milliseconds without a word an instance counts as gone. Short, so that a takeover can
 * be watched; in production more patience is wise.
 */
export const sessionTimeoutMs = 6000

/** The last port of a machine. */
export const portMax = 65_535

/** A port as an option; 0 is any free one. */
export function parsePort(text: string): number {
  const port = wholeNumber(text)
  if (port > portMax) throw new InvalidArgumentError(`It must be at most ${portMax}.`)
  return port
}

/** How many instances. */
export function parseInstances(text: string): number {
  const count = wholeNumber(text)
  if (count < 1 || count > instancesMax) {
    throw new InvalidArgumentError(`It must be from 1 to ${instancesMax}.`)
  }
  return count
}

/** Lines a second. */
export function parseRate(text: string): number {
  const rate = Number(text)
  if (text.trim() === '' || !Number.isFinite(rate) || rate <= 0) {
    throw new InvalidArgumentError('It must be a number of lines a second, more than 0.')
  }
  return rate
}

/** One more value of an option that can be repeated. */
export function parseRepeated(
  value: string,
  before: readonly string[] | undefined,
): readonly string[] {
  return [...(before ?? []), value]
}

function wholeNumber(text: string): number {
  if (!/^\d{1,9}$/.test(text)) throw new InvalidArgumentError('It must be a whole number.')
  return Number(text)
}

import type { Exchange, RegistryAnswer, RegistryRequest } from './exchange.ts'

/**
 * Something that is found out by asking a registry, written once and run in two ways: {@link runNow}
 * holds up the thread at each step, {@link run} waits for it.
 */
export type Lookup<T> = Generator<RegistryRequest | Pause, T, RegistryAnswer | undefined>

/** A wait between two requests. */
export interface Pause {
  readonly pauseMs: number
}

export function runNow<T>(exchange: Exchange, lookup: Lookup<T>): T {
  let step = lookup.next()
  while (step.done !== true) {
    const { value } = step
    if ('pauseMs' in value) {
      exchange.pauseNow(value.pauseMs)
      step = lookup.next()
    } else {
      step = lookup.next(exchange.requestNow(value))
    }
  }
  return step.value
}

export async function run<T>(exchange: Exchange, lookup: Lookup<T>): Promise<T> {
  let step = lookup.next()
  while (step.done !== true) {
    const { value } = step
    if ('pauseMs' in value) {
      await exchange.pause(value.pauseMs)
      step = lookup.next()
    } else {
      step = lookup.next(await exchange.request(value))
    }
  }
  return step.value
}

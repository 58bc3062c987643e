/**
 * Durations are numbers of milliseconds; these make them readable.
 *
 * @example
 * const grace = seconds(10)
 */
export function seconds(count: number): number {
  return count * 1000
}

/**
 * That many minutes, in milliseconds.
 *
 * @example
 * const gap = minutes(30)
 */
export function minutes(count: number): number {
  return seconds(count * 60)
}

/**
 * That many hours, in milliseconds.
 *
 * @example
 * const size = hours(1)
 */
export function hours(count: number): number {
  return minutes(count * 60)
}

/**
 * That many days of 24 hours, in milliseconds.
 *
 * @example
 * const retention = days(7)
 */
export function days(count: number): number {
  return hours(count * 24)
}

const charactersMax = 80

/**
 * Any value as it can stand in a sentence of an error: JSON where there is one, short, and never a
 * failure of its own.
 */
export function shownValue(value: unknown): string {
  if (typeof value === 'function') return 'a function'
  if (typeof value === 'bigint') return `${value}n`
  const shown = jsonOf(value) ?? String(value)
  return shown.length <= charactersMax ? shown : `${shown.slice(0, charactersMax)}…`
}

/** Undefined for what has no JSON, such as undefined, a symbol, or an object that contains itself. */
function jsonOf(value: unknown): string | undefined {
  try {
    // NaN and the infinities would be null.
    return typeof value === 'number' ? String(value) : JSON.stringify(value)
  } catch {
    return `an object that is not JSON`
  }
}

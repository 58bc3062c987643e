import type { NodeSupplier } from '../../processor/processor.ts'
import type { Windowed } from '../../store/windowed.ts'
import type { UserFunction } from './user-function.ts'

/** How a stream is printed. Java's Printed. */
export interface PrintOptions<K, V> {
  readonly name?: string
  /** What stands in brackets before each record. Default: the name of the step that gives the stream. */
  readonly label?: string
  /** The text of a record. Default: `key, value`; what is not text is shown as JSON, bytes in hexadecimal. */
  readonly format?: (value: V, key: K) => string
  /** Takes each line. Default: standard output. */
  readonly to?: (line: string) => void
}

export function toStandardOutput(line: string): void {
  process.stdout.write(`${line}\n`)
}

/** Writes a line for each record; nothing goes on from here. Java's KStreamPrint. */
export function kstreamPrint(
  write: (line: string) => void,
  options: { label: string; format: UserFunction<string> },
): NodeSupplier {
  const { label, format } = options
  return () => ({
    process(key: unknown, value: unknown) {
      write(`[${label}]: ${format(value, key)}`)
    },
  })
}

/** `key, value`, each as text: Java's format. */
export function keyAndValue(value: unknown, key: unknown): string {
  return `${printed(key)}, ${printed(value)}`
}

/** Text as it is, a windowed key as Java shows it, bytes in hexadecimal, all else as JSON. */
function printed(value: unknown): string {
  if (typeof value === 'string') return value
  if (value === null || value === undefined) return 'null'
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex')
  if (isWindowed(value)) {
    const { key, window } = value
    return `[${printed(key)}@${window.start}/${window.end}]`
  }
  if (typeof value === 'object') return JSON.stringify(value)
  const isPlain =
    typeof value === 'number' || typeof value === 'bigint' || typeof value === 'boolean'
  return isPlain ? String(value) : typeof value
}

function isWindowed(value: unknown): value is Windowed<unknown> {
  if (typeof value !== 'object' || value === null || !('window' in value)) return false
  const { window } = value
  return typeof window === 'object' && window !== null && 'start' in window && 'end' in window
}

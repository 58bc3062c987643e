/**
 * The engine writes without fsync: what it wrote is safe from the death of the process, since the
 * operating system has it, but not from the death of the machine, which may leave a file that is
 * damaged where nobody sees it. A small file beside it therefore says who has it open:
 *
 *     closed cleanly, after an fsync             trusted
 *     not closed, in the present boot            trusted: only the process died
 *     not closed, in an earlier or unknown boot  not trusted: wiped, and restored from the changelog
 */
import { uptime } from 'node:os'
import type { Clock } from '../base/clock.ts'
import type { Disk } from '../base/disk.ts'

/** Changes when files of an earlier version cannot be read any more. */
const format = 1
const bootIdPath = '/proc/sys/kernel/random/boot_id'
/** Clocks that are set make a boot time move a little; a machine does not boot twice in this time. */
const bootTimeTolerance = 10_000

/** What tells one run of the machine from the next: Linux names it, elsewhere it is the boot time. */
export interface Boot {
  readonly id?: string
  /** Milliseconds since the epoch. */
  readonly time?: number
}

interface Session {
  readonly format: number
  readonly clean: boolean
  readonly boot: Boot
}

/** The present run of the machine. */
export function presentBoot(disk: Disk, clock: Clock): Boot {
  const id = disk.readFile(bootIdPath)?.toString().trim()
  if (id !== undefined && id !== '') return { id }
  return { time: Math.round(clock.now() - uptime() * 1000) }
}

function isSameBoot(a: Boot, b: Boot): boolean {
  if (a.id !== undefined || b.id !== undefined) return a.id === b.id
  if (a.time === undefined || b.time === undefined) return false
  return Math.abs(a.time - b.time) < bootTimeTolerance
}

function parseSession(bytes: Buffer): Partial<Session> | undefined {
  try {
    const session: unknown = JSON.parse(bytes.toString())
    return typeof session === 'object' && session !== null ? session : undefined
  } catch {
    return undefined
  }
}

/** The session file of one engine. */
export class EngineSession {
  readonly #disk: Disk
  readonly #path: string
  readonly #boot: Boot

  constructor(options: { disk: Disk; clock: Clock; path: string }) {
    this.#disk = options.disk
    this.#path = options.path
    this.#boot = presentBoot(options.disk, options.clock)
  }

  /** Why the engine's file cannot be trusted; undefined when it can. */
  distrust(): string | undefined {
    const bytes = this.#disk.readFile(this.#path)
    if (bytes === undefined) return 'nothing says how it was closed'
    const session = parseSession(bytes)
    if (session === undefined) return 'what says how it was closed is not readable'
    if (session.format !== format) return `it has format ${session.format}, this is ${format}`
    if (session.clean === true || isSameBoot(session.boot ?? {}, this.#boot)) return undefined
    return 'the machine stopped while it was open'
  }

  /** Says that the file is open: before the first write to it. */
  begin(): void {
    this.#write(false)
  }

  /** Says that the file is whole: after its last bytes are on the medium. */
  end(): void {
    this.#write(true)
  }

  #write(clean: boolean): void {
    const session: Session = { format, clean, boot: this.#boot }
    this.#disk.writeFileAtomic(this.#path, Buffer.from(`${JSON.stringify(session)}\n`))
  }
}

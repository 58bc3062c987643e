/**
 * A persistent engine for simulations, on the disk port alone: rows are in memory, and each commit is one
 * line of a journal, which is read when the engine is opened again. A line without an end was written by a
 * process that died over it; it was never committed.
 */
import { assert } from '../base/assert.ts'
import type { Disk, DiskFile } from '../base/disk.ts'
import { EngineSession } from '../kv/engine-session.ts'
import type {
  KvBatch,
  KvEngine,
  KvIterator,
  KvMetrics,
  KvRange,
  KvSnapshot,
  KvTable,
  KvTransaction,
} from '../kv/kv.ts'
import { MemoryEngine } from '../kv/memory-engine.ts'
import type { StateEngine, StateEngineWorld } from '../kv/state-engine.ts'

const journalName = 'journal'
const sessionName = 'session'
const lineEnd = 0x0a
/** A journal is written anew at opening when it has become longer than its rows by so many bytes. */
const slackBytesMax = 64 * 1024

/** Keys and values are latin1 strings, one byte a character. */
type Change =
  | readonly ['table' | 'drop', table: string]
  | readonly ['delete', table: string, key: string]
  | readonly ['put', table: string, key: string, value: string]

/** The default engine of simulated instances. */
export const journalStateEngine: StateEngine = Object.freeze({
  kind: 'state-engine',
  name: 'journal',
  factory: (world: StateEngineWorld) => (directory: string) =>
    openJournal(world, `${directory}/journal`),
})

function openJournal(world: StateEngineWorld, directory: string): JournalEngine {
  const { disk, clock, log } = world
  disk.makeDirectory(directory)
  const path = `${directory}/${journalName}`
  const session = new EngineSession({ disk, clock, path: `${directory}/${sessionName}` })
  const distrust = disk.exists(path) ? session.distrust() : undefined
  if (distrust !== undefined) {
    log.warn('state is wiped and restored', { path, reason: distrust })
    disk.remove(path)
  }
  session.begin()
  return new JournalEngine({ disk, path, session })
}

/** State of one task, in a journal. */
export class JournalEngine implements KvEngine {
  readonly persistent = true
  readonly keyBytesMax = Infinity
  readonly transactionSpan = 'many-turns'
  readonly #rows = new MemoryEngine()
  readonly #tables = new Map<string, JournalTable>()
  readonly #file: DiskFile
  readonly #session: EngineSession
  #size: number
  #transaction: JournalWrites | undefined
  #isClosed = false

  /** Does again what the journal says, and makes it shorter when most of it is over. */
  constructor({ disk, path, session }: { disk: Disk; path: string; session: EngineSession }) {
    const journal = disk.readFile(path) ?? Buffer.alloc(0)
    this.#size = journal.lastIndexOf(lineEnd) + 1
    for (const line of journal.toString('latin1', 0, this.#size).split('\n')) {
      if (line !== '') this.#apply(JSON.parse(line) as Change[])
    }
    if (this.#size > this.metrics().sizeBytes + slackBytesMax) {
      const short = lineOf(this.#present())
      disk.writeFileAtomic(path, short)
      this.#size = short.length
    }
    this.#file = disk.open(path, { create: true })
    if (this.#file.size() > this.#size) this.#file.truncate(this.#size)
    this.#session = session
  }

  table(name: string): KvTable {
    assert(!this.#isClosed, 'the engine is open')
    const known = this.#tables.get(name)
    if (known !== undefined) return known
    this.write([['table', name]])
    return this.#tables.get(name) as JournalTable
  }

  tableNames(): string[] {
    return this.#rows.tableNames()
  }

  dropTable(name: string): void {
    if (this.#tables.has(name)) this.write([['drop', name]])
  }

  batch(): KvBatch {
    assert(!this.#isClosed, 'the engine is open')
    return new JournalWrites((changes) => this.write(changes))
  }

  begin(): KvTransaction {
    assert(!this.#isClosed, 'the engine is open')
    assert(this.#transaction === undefined, 'one transaction at a time')
    const transaction = new JournalWrites(
      (changes) => this.write(changes),
      () => {
        this.#transaction = undefined
      },
    )
    this.#transaction = transaction
    return transaction
  }

  snapshot(): KvSnapshot {
    return this.#rows.snapshot()
  }

  metrics(): KvMetrics {
    return this.#rows.metrics()
  }

  close(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#transaction?.discard()
    this.#rows.close()
    this.#file.sync()
    this.#file.close()
    this.#session.end()
  }

  [Symbol.dispose](): void {
    this.close()
  }

  /**
   * All or nothing: of a line that cannot be written nothing stays.
   *
   * @throws `DISK_FAILED`
   */
  write(changes: readonly Change[]): void {
    this.#transaction?.discard()
    if (changes.length === 0) return
    const line = lineOf(changes)
    try {
      this.#file.write(line, this.#size)
    } catch (error) {
      this.#file.truncate(this.#size)
      throw error
    }
    this.#size += line.length
    this.#apply(changes)
  }

  #apply(changes: readonly Change[]): void {
    const batch = this.#rows.batch()
    for (const change of changes) {
      const [kind, table] = change
      if (kind === 'put') {
        const [, , key, value] = change
        batch.put(this.#rows.table(table), bytesOf(key), bytesOf(value))
      } else if (kind === 'delete') batch.delete(this.#rows.table(table), bytesOf(change[2]))
      else if (kind === 'table') this.#tables.set(table, new JournalTable(table, this.#rows, this))
      else if (this.#tables.delete(table)) this.#rows.dropTable(table)
    }
    batch.commit()
  }

  /** What is left of all that was said. */
  #present(): Change[] {
    return this.tableNames().flatMap((table): Change[] => [
      ['table', table],
      ...[...this.#rows.table(table).range()].map(
        ({ key, value }) => ['put', table, textOf(key), textOf(value)] as const,
      ),
    ])
  }
}

/** One table: what is read is in memory, what is written goes through the journal. */
class JournalTable implements KvTable {
  readonly name: string
  readonly #rows: KvTable
  readonly #engine: JournalEngine

  constructor(name: string, engine: MemoryEngine, journal: JournalEngine) {
    this.name = name
    this.#rows = engine.table(name)
    this.#engine = journal
  }

  get(key: Buffer, text?: string): Buffer | undefined {
    return this.#rows.get(key, text)
  }

  range(range?: KvRange): KvIterator {
    return this.#rows.range(range)
  }

  approximateEntryCount(): number {
    return this.#rows.approximateEntryCount()
  }

  put(key: Buffer, value: Buffer): void {
    this.#engine.write([['put', this.name, textOf(key), textOf(value)]])
  }

  delete(key: Buffer): void {
    this.#engine.write([['delete', this.name, textOf(key)]])
  }
}

/** Writes that wait to be one line of the journal. */
class JournalWrites implements KvBatch, KvTransaction {
  isOpen = true
  readonly #write: (changes: readonly Change[]) => void
  readonly #onEnd: () => void
  #changes: Change[] = []

  constructor(write: (changes: readonly Change[]) => void, onEnd: () => void = () => undefined) {
    this.#write = write
    this.#onEnd = onEnd
  }

  put(table: KvTable, key: Buffer, value: Buffer): void {
    if (this.isOpen) this.#changes.push(['put', ownTable(table), textOf(key), textOf(value)])
  }

  delete(table: KvTable, key: Buffer): void {
    if (this.isOpen) this.#changes.push(['delete', ownTable(table), textOf(key)])
  }

  commit(): boolean {
    if (!this.isOpen) return false
    const changes = this.#changes
    this.discard()
    this.#write(changes)
    return true
  }

  discard(): void {
    this.isOpen = false
    this.#changes = []
    this.#onEnd()
  }
}

function ownTable(table: KvTable): string {
  assert(table instanceof JournalTable, 'a batch writes to tables of its own engine')
  return table.name
}

const lineOf = (changes: readonly Change[]): Buffer =>
  Buffer.from(`${JSON.stringify(changes)}\n`, 'latin1')
const textOf = (bytes: Uint8Array): string =>
  Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
const bytesOf = (text: string): Buffer => Buffer.from(text, 'latin1')

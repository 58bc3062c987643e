import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { systemClock } from '../../src/base/clock.ts'
import { systemDisk } from '../../src/base/disk.ts'
import { createLog } from '../../src/base/log.ts'
import type { KvEngine } from '../../src/kv/kv.ts'
import { rocksdbStateEngine } from '../../src/kv/rocksdb-state-engine.ts'
import { lmdbStateEngine, type StateEngine } from '../../src/kv/state-engine.ts'
import { OffsetTable } from '../../src/store/offset-table.ts'
import { timestampedFormat } from '../../src/store/stored-value.ts'
import { hasRocksdb, rocksdbFrom } from '../peers/rocksdb.ts'
import { readChangelog, type ChangelogLine } from './store-changelog.ts'

const rounds = 6
const writer = fileURLToPath(new URL('store-writer.ts', import.meta.url))

/** Lets the writer live for so many commits and a part of one, then kills it. */
async function writeAndKill(
  directory: string,
  options: { seed: number; commits: number; engine: string },
): Promise<void> {
  const child = spawn(
    process.execPath,
    ['--import', 'tsx', writer, directory, String(options.seed), options.engine],
    { stdio: ['ignore', 'pipe', 'inherit'] },
  )
  const exited = once(child, 'exit')
  let commits = 0
  for await (const _line of createInterface({ input: child.stdout })) {
    commits += 1
    if (commits === options.commits) child.kill('SIGKILL')
  }
  const [, signal] = (await exited) as [number | null, string | null]
  expect(signal).toBe('SIGKILL')
}

/** The rows of a store that a part of the changelog gives. */
function replay(lines: readonly ChangelogLine[], store: string): string[] {
  const rows = new Map<string, string>()
  for (const { store: name, key, value, timestamp } of lines) {
    if (name !== store) continue
    if (value === null) rows.delete(key)
    else rows.set(key, `${key}=${value}@${timestamp}`)
  }
  return [...rows].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, row]) => row)
}

function engineRows(engine: KvEngine, store: string): string[] {
  return [...engine.table(store).range()].map(({ key, value }) => {
    const { value: count, timestamp } = timestampedFormat.decode(value)
    return `${String(key)}=${count.readBigInt64BE()}@${timestamp}`
  })
}

const stateEngines: readonly StateEngine[] = [
  lmdbStateEngine,
  ...(hasRocksdb ? [rocksdbStateEngine({ from: rocksdbFrom })] : []),
]

test.each(stateEngines)(
  'after kill -9 $name holds exactly the committed state that its offset says',
  async (stateEngine) => {
    const directory = mkdtempSync(join(tmpdir(), 'millpond-kill-'))
    writeFileSync(join(directory, 'changelog.jsonl'), '')
    const warnings: string[] = []
    const log = createLog((_level, message) => warnings.push(message))
    try {
      let lastOffset = 0
      for (let round = 0; round < rounds; round += 1) {
        await writeAndKill(directory, {
          seed: round + 1,
          commits: 5 + round * 3,
          engine: stateEngine.name,
        })
        const lines = readChangelog(readFileSync(join(directory, 'changelog.jsonl'), 'utf8'))
        const world = { disk: systemDisk, clock: systemClock, log }
        using engine = stateEngine.factory(world)(directory)
        const offsets = new OffsetTable(engine)
        const offset = offsets.get('counts') ?? 0
        // Both stores are at the same commit.
        expect(offsets.get('mirror') ?? 0).toBe(offset)
        expect(offset).toBeGreaterThanOrEqual(lastOffset)
        expect(offset).toBeLessThanOrEqual(lines.length)
        for (const store of ['counts', 'mirror']) {
          expect(engineRows(engine, store)).toEqual(replay(lines.slice(0, offset), store))
        }
        lastOffset = offset
      }
      expect(lastOffset).toBeGreaterThan(0)
      expect(warnings).toEqual([])
    } finally {
      rmSync(directory, { recursive: true, force: true })
    }
  },
  120_000,
)

/** Scripts of few keys, disordered timestamps, nulls and headers. */
import type {
  CaseConfig,
  ScriptEntry,
  ScriptRecord,
  ScriptValue,
} from '../../test/conformance/case.ts'
import { bytesOf, hex } from '../../test/conformance/formats.ts'
import type { Chance } from './chance.ts'

/** Serdes that the generator reads topics with; functions give string, long and double. */
export const serdeNames = [
  'string',
  'string',
  'string',
  'long',
  'long',
  'int',
  'double',
  'short',
  'float',
  'boolean',
  'bytes',
  'uuid',
  'list:string',
] as const

export interface Serdes {
  readonly key: string
  readonly value: string
}

/** Topics that a script may write. */
export type Inputs = ReadonlyMap<string, Serdes>

const recordsMax = 24

const valuePools: Readonly<Record<string, readonly ScriptValue[]>> = {
  string: ['to', 'be', 'to be', 'or not', 'drop', '5', '-12', '7 7', '', 'grüß dich', 'a😀b'],
  long: [0, 1, 2, 7, -1, 255, 4_294_967_296, -4_294_967_296],
  int: [0, 1, 2, -1, 300, -2_147_483_648, 2_147_483_647],
  short: [0, 1, -1, 32_767, -32_768],
  double: [0, 0.5, -0.25, 3, 1000],
  float: [0, 1.5, -2.25, 64],
  boolean: [true, false],
  bytes: [{ hex: '' }, { hex: '00' }, { hex: '0001' }, { hex: 'ff' }],
  uuid: ['00000000-0000-0000-0000-000000000000', '123e4567-e89b-12d3-a456-426614174000'],
  'list:string': [[], ['a'], ['a', null, 'b c'], ['']],
}

const headerNames = ['h', 'trace', 'h']

const optimizations = [
  'all',
  'all',
  'merge.repartition.topics',
  'reuse.ktable.source.topics',
  'single.store.self.join',
]

export function randomConfig(chance: Chance): CaseConfig {
  return {
    ...(chance.is(0.3) && { cacheBytes: 0 }),
    ...(chance.is(0.2) && { guarantee: 'exactly-once' as const }),
    ...(chance.is(0.3) && { onDeserializationError: 'continue' as const }),
    ...(chance.is(0.15) && { optimization: chance.pick(optimizations) }),
    ...(chance.is(0.2) && { wallClock: chance.below(100_000) }),
  }
}

/** Records for topics of those serdes, and some steps of the wall clock. */
export function randomScript(chance: Chance, inputs: Inputs): ScriptEntry[] {
  const topics = [...inputs.keys()]
  const keyCount = 1 + chance.below(4)
  const entries: ScriptEntry[] = []
  const count = 2 + chance.below(recordsMax)
  let time = chance.pick([0, 0, 100, 1_700_000_000_000])
  for (let i = 0; i < count; i += 1) {
    if (chance.is(0.06)) {
      entries.push({ advanceWallClock: chance.pick([1, 7, 30, 1000]) })
      continue
    }
    time += chance.pick([0, 1, 5, 10, 10, 60, 1000])
    const timestamp = Math.max(0, time + chance.pick([0, 0, 0, -1, -5, -30, -2000]))
    const topic = chance.pick(topics)
    const serdes = inputs.get(topic) as Serdes
    entries.push({ topic, ...randomFields(chance, serdes, keyCount), timestamp })
  }
  return entries
}

function randomFields(
  chance: Chance,
  serdes: Serdes,
  keyCount: number,
): Omit<ScriptRecord, 'topic' | 'timestamp'> {
  const keys = poolOf(serdes.key).slice(0, keyCount)
  return {
    key: chance.is(0.1) ? null : chance.pick(keys),
    value: randomValue(chance, serdes.value),
    ...(chance.is(0.12) && { headers: randomHeaders(chance) }),
  }
}

function randomValue(chance: Chance, serde: string): ScriptValue {
  if (chance.is(0.12)) return null
  // Bytes that most serdes cannot read.
  if (chance.is(0.003)) return { hex: '00ff00' }
  return chance.pick(poolOf(serde))
}

/** Values of a serde; of keys in windows the bytes of some, with windows that begin and end early. */
function poolOf(serde: string): readonly ScriptValue[] {
  const pool = valuePools[serde]
  if (pool !== undefined) return pool
  const [kind, ...parts] = serde.split(':')
  const inner = (kind === 'session' ? parts : parts.slice(1)).join(':')
  const times = kind === 'session' ? ['0000000000000009', '0000000000000005'] : ['0000000000000005']
  return poolOf(inner)
    .slice(0, 3)
    .map((value) => ({ hex: `${hex(bytesOf(value, inner))}${times.join('')}` }))
}

function randomHeaders(chance: Chance): [name: string, value: string | null][] {
  return chance.list(1, 3, () => [chance.pick(headerNames), chance.pick(['x', 'ü', '', null])])
}

/**
 * Word counts by other means than the topology: a loop over code points here, and perl where there is
 * one. Neither shares a line of code with what it judges.
 */
import { spawnSync } from 'node:child_process'
import { seededRandom, randomInteger } from '../../src/base/random.ts'

const alphabets = [
  'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ',
  'äöüßéèñçøåÄÖÜÉÈÑÇØÅ',
  'αβγδεζηθΑΒΓΔΕΖΗΘ',
  'бвгдежзиклБВГДЕЖЗИКЛ',
  '0123456789٠١٢٣',
  '日本語中文字',
  '𝒜𝒷𐐀𐐨',
].map((letters) => Array.from(letters))

const separators = [
  ' ',
  ' ',
  ' ',
  ', ',
  '. ',
  '; ',
  '-',
  "'",
  '\t',
  '…',
  '。',
  ' 😀 ',
  ' _ ',
  '\u0301 ',
]

/**
 * A text of at least so many bytes that is the same for the same seed: letters of several scripts,
 * digits, punctuation, empty lines and long ones, the last without an end.
 */
export function makeText(seed: number, bytes: number, lineEnd = '\n'): string {
  const random = seededRandom(seed)
  const pick = <T>(items: readonly T[]): T => items[randomInteger(random, items.length)] as T
  const vocabulary = Array.from({ length: 3000 }, () => {
    const alphabet = random.next() < 0.7 ? (alphabets[0] as string[]) : pick(alphabets)
    return Array.from({ length: 1 + randomInteger(random, 9) }, () => pick(alphabet)).join('')
  })
  // Some words are much more frequent than others, as in any text.
  const word = (): string =>
    `${vocabulary[Math.floor(vocabulary.length * random.next() ** 3)] ?? ''}${pick(separators)}`
  const lines: string[] = []
  for (let size = 0; size < bytes; size += Buffer.byteLength(lines.at(-1) ?? '')) {
    const words = random.next() < 0.001 ? 20_000 : randomInteger(random, 20)
    lines.push(Array.from({ length: words }, word).join('') + lineEnd)
  }
  return `${lines.join('')}the End`
}

const wordCharacter = /^[\p{L}\p{N}]$/u

/** Counts words character by character. */
export function countWords(...texts: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>()
  const known = new Map<string, boolean>()
  const isOfWord = (character: string): boolean => {
    const before = known.get(character)
    if (before !== undefined) return before
    const answer = wordCharacter.test(character)
    known.set(character, answer)
    return answer
  }
  for (const text of texts) {
    let word = ''
    const end = (): void => {
      if (word === '') return
      const lower = word.toLowerCase()
      counts.set(lower, (counts.get(lower) ?? 0) + 1)
      word = ''
    }
    for (const character of text) {
      if (isOfWord(character)) word += character
      else end()
    }
    end()
  }
  return counts
}

/** The most frequent words as the demo prints them. */
export function topLines(counts: ReadonlyMap<string, number>, limit = 10): string {
  return [...counts]
    .sort(([a, m], [b, n]) => n - m || Buffer.compare(Buffer.from(a), Buffer.from(b)))
    .slice(0, limit)
    .map(([word, count]) => `${word}\t${count}\n`)
    .join('')
}

const perlProgram = String.raw`
  for (split /[^\p{L}\p{N}]+/, lc) { $c{$_}++ if length }
  END { for (sort { $c{$b} <=> $c{$a} || $a cmp $b } keys %c) { last if $n++ == 10; print "$_\t$c{$_}\n" } }
`

/** The same list from perl; undefined where there is none. */
export function topLinesByPerl(files: readonly string[]): string | undefined {
  const { status, stdout } = spawnSync('perl', ['-CSD', '-ne', perlProgram, ...files], {
    encoding: 'utf8',
  })
  return status === 0 ? stdout : undefined
}

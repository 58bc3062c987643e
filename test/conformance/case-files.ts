import { readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { ConformanceCase } from './case.ts'

const directory = fileURLToPath(new URL('cases', import.meta.url))

/** The committed files of cases, by name. */
export function caseFiles(): string[] {
  return readdirSync(directory)
    .filter((name) => name.endsWith('.jsonl'))
    .sort()
    .map((name) => join(directory, name))
}

/** One case a line; empty lines are passed over. */
export function readCases(path: string): ConformanceCase[] {
  const cases: ConformanceCase[] = []
  for (const [index, line] of readFileSync(path, 'utf8').split('\n').entries()) {
    if (line.trim() === '') continue
    try {
      cases.push(JSON.parse(line) as ConformanceCase)
    } catch (error) {
      throw new Error(`${path}:${index + 1} is not JSON: ${(error as Error).message}`, {
        cause: error,
      })
    }
  }
  return cases
}

export function writeCases(path: string, cases: readonly ConformanceCase[]): void {
  writeFileSync(path, cases.map((each) => `${JSON.stringify(each)}\n`).join(''))
}

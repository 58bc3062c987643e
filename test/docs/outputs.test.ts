/** The programs of the documentation, run as they stand. */
import { expect, test } from 'vitest'
import { docOutputs } from '../../scripts/doc-outputs.ts'

// All run in one process, with its own compiler.
test('what pages show is what their programs print', { timeout: 120_000 }, () => {
  const outputs = docOutputs()
  const shown = outputs.map(({ page, line, shown }) => `${page}:${line}\n${shown}`)
  const printed = outputs.map(({ page, line, printed }) => `${page}:${line}\n${printed}`)

  expect(outputs.length).toBeGreaterThan(30)
  expect(printed).toEqual(shown)
})

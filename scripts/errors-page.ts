/** Adds rows for new error codes to docs/reference/errors.md; the meaning is then written by hand. */
import { readFileSync, writeFileSync } from 'node:fs'
import { StreamsError, errorCodes } from '../src/errors.ts'

const path = new URL('../docs/reference/errors.md', import.meta.url)
const page = readFileSync(path, 'utf8')
const meanings = new Map(
  [...page.matchAll(/^\| `([A-Z_]+)` +\| \d+ +\| \w+ +\| (.+?) +\|$/gm)].map((row) => [
    row[1],
    row[2],
  ]),
)
const rows = errorCodes.map((code) => {
  const { http, retriable, message } = new StreamsError(code)
  return `| \`${code}\` | ${http} | ${retriable ? 'yes' : 'no'} | ${meanings.get(code) ?? message} |`
})
const head = page.slice(0, page.search(/^\| code/m))
writeFileSync(
  path,
  `${head}| code | HTTP | retry | meaning |\n| --- | --- | --- | --- |\n${rows.join('\n')}\n`,
)

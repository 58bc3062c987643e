/** Links between pages lead to pages, and to headings, that are there. */
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'

const root = fileURLToPath(new URL('../../', import.meta.url))
const pages = [
  'README.md',
  'CONTRIBUTING.md',
  ...readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.md'))
    .map((name) => join('docs', name)),
]

/** The name under which a heading can be linked to, as GitHub makes it. */
function anchorOf(heading: string): string {
  return heading
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replaceAll(/\s/g, '-')
}

function anchorsOf(path: string): Set<string> {
  const text = readFileSync(path, 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
  return new Set([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) => anchorOf(heading)))
}

/** What is wrong with a link; undefined: nothing. */
function problemOf(page: string, link: string): string | undefined {
  const [file = '', anchor] = link.split('#')
  const path = file === '' ? join(root, page) : resolve(root, dirname(page), file)
  if (!existsSync(path)) return `${page}: ${link}: there is no such file`
  if (anchor === undefined || anchorsOf(path).has(anchor)) return undefined
  return `${page}: ${link}: there is no such heading`
}

test('all links between pages lead somewhere', () => {
  const links = pages.flatMap((page) => {
    const text = readFileSync(join(root, page), 'utf8').replaceAll(/^```[\s\S]*?^```$/gm, '')
    return [...text.matchAll(/\]\(([^)\s]+)\)/g)]
      .map(([, link = '']) => link)
      .filter((link) => !/^[a-z]+:/.test(link))
      .map((link) => ({ page, link }))
  })
  const problems = links.map(({ page, link }) => problemOf(page, link))

  expect(links.length).toBeGreaterThan(50)
  expect(problems.filter((problem) => problem !== undefined)).toEqual([])
})

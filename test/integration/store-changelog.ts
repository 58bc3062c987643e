/** One line of the changelog file of store-writer.ts. */
export interface ChangelogLine {
  readonly store: string
  readonly key: string
  readonly value: number | null
  readonly timestamp: number
}

/** The whole lines; one that the death of the writer cut off is not among them. */
export function readChangelog(text: string): ChangelogLine[] {
  const lines = text.split('\n')
  lines.pop()
  return lines.map((line) => JSON.parse(line) as ChangelogLine)
}

/** Milliseconds between two lines where lines stay (no terminal). */
const lineIntervalMs = 5000

/** Where lines go: standard error, or a test. */
export interface StatusOutput {
  write(text: string): unknown
  readonly isTTY?: boolean
  readonly columns?: number
}

/**
 * The last line of the demo's output, which tells how things are: redrawn in place on a terminal, a
 * new one every few seconds elsewhere. Other lines go above it.
 */
export class StatusLine {
  readonly #output: StatusOutput
  #shown = ''
  #writtenAt = Number.NEGATIVE_INFINITY

  constructor(output: StatusOutput) {
    this.#output = output
  }

  /** Writes a line that stays. */
  say(line: string): void {
    const shown = this.#shown
    this.clear()
    this.#output.write(`${line}\n`)
    if (shown !== '') this.#draw(shown)
  }

  /** Tells how things are. @param nowMs of a clock that does not go back. */
  update(line: string, nowMs: number): void {
    if (this.#output.isTTY === true) {
      if (line !== this.#shown) {
        this.clear()
        this.#draw(line)
      }
      return
    }
    if (nowMs - this.#writtenAt < lineIntervalMs) return
    this.#writtenAt = nowMs
    this.#output.write(`${line}\n`)
  }

  /** Takes the line away. */
  clear(): void {
    if (this.#shown !== '') this.#output.write('\r\u001b[2K')
    this.#shown = ''
  }

  /** A line that wraps could not be redrawn: it is cut. */
  #draw(line: string): void {
    this.#output.write(line.slice(0, (this.#output.columns ?? 80) - 1))
    this.#shown = line
  }
}

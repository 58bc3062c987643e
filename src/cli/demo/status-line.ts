/** Milliseconds between two updates, on a terminal and where lines stay. */
const redrawIntervalMs = 1000
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

  constructor(output: StatusOutput) {
    this.#output = output
  }

  /** Milliseconds after which the next update is worth while. */
  get intervalMs(): number {
    return this.#output.isTTY === true ? redrawIntervalMs : lineIntervalMs
  }

  /** Writes a line that stays. */
  say(line: string): void {
    const shown = this.#shown
    this.clear()
    this.#output.write(`${line}\n`)
    if (shown !== '') this.#draw(shown)
  }

  /** Tells how things are. */
  update(line: string): void {
    if (this.#output.isTTY !== true) {
      this.#output.write(`${line}\n`)
    } else if (line !== this.#shown) {
      this.clear()
      this.#draw(line)
    }
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

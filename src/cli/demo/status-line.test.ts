import { expect, test } from 'vitest'
import { StatusLine } from './status-line.ts'

class Output {
  text = ''
  readonly isTTY: boolean
  readonly columns = 20

  constructor(isTTY: boolean) {
    this.isTTY = isTTY
  }

  write(text: string): void {
    this.text += text
  }
}

const clearLine = '\r\u001b[2K'

test('on a terminal one line is redrawn, and other lines go above it', () => {
  const output = new Output(true)
  const status = new StatusLine(output)
  status.update('one')
  status.update('one')
  status.update('two')
  status.say('hello')
  status.clear()
  status.clear()
  expect(output.text).toBe(`one${clearLine}two${clearLine}hello\ntwo${clearLine}`)
})

test('a line is cut to the width of the terminal', () => {
  const output = new Output(true)
  new StatusLine(output).update('1234567890123456789012345')
  expect(output.text).toBe('1234567890123456789')
})

test('without a terminal lines stay, and come less often', () => {
  const output = new Output(false)
  const status = new StatusLine(output)
  status.update('one')
  status.say('hello')
  status.update('two')
  status.clear()
  expect(output.text).toBe('one\nhello\ntwo\n')
  expect(status.intervalMs).toBe(5000)
  expect(new StatusLine(new Output(true)).intervalMs).toBe(1000)
})

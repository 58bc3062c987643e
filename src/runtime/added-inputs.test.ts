import { expect, test } from 'vitest'
import type { GlobalInput } from '../task/global-inputs.ts'
import { AddedInputs } from './added-inputs.ts'
import type { LogRange } from './global-topics.ts'

const input = (partition: number): GlobalInput => ({
  store: 'countries',
  topic: 'countries',
  partition,
  position: undefined,
})

interface Question {
  readonly resolve: (range: LogRange) => void
  readonly reject: (error: Error) => void
}

/** Questions that a test answers, by partition. */
class Questions {
  readonly #questions = new Map<number, Question>()
  #noticed = (): void => undefined

  readonly added = new AddedInputs(
    async (asked) => [{ input: asked, range: await this.#ask(asked) }],
    () => this.#noticed(),
  )

  #ask({ partition }: GlobalInput): Promise<LogRange> {
    return new Promise((resolve, reject) => {
      this.#questions.set(partition, { resolve, reject })
    })
  }

  about(partition: number): Question {
    const question = this.#questions.get(partition)
    if (question === undefined) throw new Error(`nobody asked about ${partition}`)
    return question
  }

  /** Resolves at the next notice. */
  notice(): Promise<void> {
    return new Promise((resolve) => {
      this.#noticed = resolve
    })
  }
}

test('a partition whose offsets come late holds up no other', async () => {
  const questions = new Questions()
  const { added } = questions
  added.ask(input(1))
  added.ask(input(2))
  expect(added.take()).toEqual([])

  const notice = questions.notice()
  questions.about(2).resolve({ start: 0, end: 7 })
  await notice
  expect(added.take()).toEqual([{ input: input(2), range: { start: 0, end: 7 } }])
  expect(added.take()).toEqual([])

  questions.about(1).resolve({ start: 3, end: 3 })
  await added.settled()
  expect(added.take()).toEqual([{ input: input(1), range: { start: 3, end: 3 } }])
})

test('what a question fails with is thrown where answers are taken', async () => {
  const questions = new Questions()
  const { added } = questions
  added.ask(input(1))
  added.ask(input(2))
  questions.about(1).reject(new Error('not authorized'))
  questions.about(2).resolve({ start: 0, end: 1 })
  await added.settled()
  expect(() => added.take()).toThrow('not authorized')
})

import { describe, expect, test } from 'vitest'
import type { Log } from '../base/log.ts'
import { silentLog } from '../base/log.ts'
import type { DeadLetterRecord, ErrorHandling } from '../error-handlers.ts'
import { StreamsError } from '../errors.ts'
import { StreamsMetrics } from '../metrics/streams-metrics.ts'
import type { RecordContext } from '../store/state-store.ts'
import { ErrorHandlers } from './error-handlers.ts'

const record: RecordContext = {
  timestamp: 5,
  offset: 7,
  topic: 'in',
  partition: 2,
  headers: [],
  source: { key: Buffer.from('k'), value: null },
}

const written = { topic: 'out', key: null, value: 'v', timestamp: 5, headers: [] }

function setup(handling: ErrorHandling, options: { log?: Log; canSend?: boolean } = {}) {
  const letters: DeadLetterRecord[] = []
  const metrics = new StreamsMetrics()
  const handlers = new ErrorHandlers({
    ...handling,
    task: '1_2',
    record,
    metrics,
    log: options.log ?? silentLog,
    send: options.canSend === false ? undefined : (letter) => letters.push(letter),
  })
  return { handlers, letters, metrics }
}

/** What the call throws. */
function failureOf(call: () => unknown): unknown {
  try {
    call()
  } catch (error) {
    return error
  }
  return undefined
}

describe('nobody is asked', () => {
  const answers = (): never => {
    throw new Error('somebody was asked')
  }
  const { handlers } = setup({ onProcessingError: answers })

  test.each(['TASK_MIGRATED', 'TASK_CORRUPTED', 'DELIVERY_FAILED', 'DISK_FAILED'] as const)(
    'about %s, which is no fault of the record',
    (code) => {
      const error = new StreamsError(code, {})
      expect(failureOf(() => handlers.failed('step', error))).toBe(error)
    },
  )

  test('about a failure that was decided on in a step below', () => {
    const deciding = setup({ onProcessingError: 'fail' }).handlers
    const decided = failureOf(() => deciding.failed('below', new Error('x')))
    expect(decided).toMatchObject({ code: 'PROCESSING_FAILED', context: { node: 'below' } })
    expect(failureOf(() => handlers.failed('above', decided))).toBe(decided)
  })

  test('by a step about a record that is too large, for a sink or a changelog', () => {
    const tooLarge = new StreamsError('RECORD_TOO_LARGE', { topic: 'out', bytes: 2, limit: 1 })
    for (const node of ['sink', undefined]) {
      const given = { origin: 'delivery' as const, record: written }
      const error = failureOf(() => handlers.unwritable(node, given, tooLarge))
      expect(error).toMatchObject({
        code: 'RECORD_UNWRITABLE',
        context: { task: '1_2', topic: 'in', partition: 2, offset: 7, sink: 'out' },
        cause: tooLarge,
      })
      expect(failureOf(() => handlers.failed('step', error))).toBe(error)
    }
  })
})

test('a step is asked about what a serde of the sink below refuses', () => {
  const asked: unknown[] = []
  const { handlers } = setup({
    onProcessingError: ({ node }, error) => {
      asked.push([node, (error as StreamsError).code])
      return 'continue'
    },
  })
  const given = { origin: 'value' as const, record: written }
  const error = failureOf(() => handlers.unwritable('sink', given, new Error('x')))
  handlers.failed('step', handlers.sinkFailure('sink', error))
  expect(asked).toEqual([['step', 'RECORD_UNWRITABLE']])
})

test('a step is told what a function of the sink below threw, and the failure names the sink', () => {
  const thrown = new RangeError('no such partition')
  const asked: unknown[] = []
  const { handlers } = setup({
    onProcessingError: (_context, error) => {
      asked.push(error)
      return 'fail'
    },
  })
  const error = handlers.sinkFailure('sink', thrown)
  expect(failureOf(() => handlers.failed('step', error))).toBe(error)
  expect(error).toMatchObject({ code: 'RECORD_UNWRITABLE', context: { node: 'sink' } })
  expect(asked).toEqual([thrown])
})

describe('a record that brokers refuse', () => {
  const refused = new StreamsError('KAFKA_ERROR', { api: 'Produce', error: 'INVALID_RECORD' })
  const late = new StreamsError('REQUEST_TIMEOUT', { api: 'Produce', broker: 'b', timeoutMs: 1 })
  const by = { task: '0_1', node: 'sink' }
  const passing = { canPass: true, by }
  const final = { canPass: false, by }

  test('is passed over, with a letter', () => {
    const { handlers, letters, metrics } = setup({
      onProductionError: 'continue',
      deadLetterQueueTopic: 'dead',
    })
    expect(handlers.refused(written, refused, final)).toBe('continue')
    expect(letters).toMatchObject([{ topic: 'dead', key: Buffer.from('k'), value: null }])
    expect(metrics.droppedRecords()).toEqual(new Map([['production-error', 1]]))
  })

  test('is no reason to lose what comes when the broker is back', () => {
    for (const word of ['fail', 'continue'] as const) {
      const { handlers, letters } = setup({ onProductionError: word, deadLetterQueueTopic: 'dead' })
      expect(handlers.refused(written, late, passing)).toBe('retry')
      expect(letters).toEqual([])
    }
  })

  test('may be lost all the same, or end the program, when a function says so', () => {
    const lose = setup({ onProductionError: () => 'continue' }).handlers
    expect(lose.refused(written, late, passing)).toBe('continue')
    const end = setup({ onProductionError: () => 'fail' }).handlers
    expect(failureOf(() => end.refused(written, late, passing))).toMatchObject({
      code: 'RECORD_UNWRITABLE',
    })
    const again = setup({ onProductionError: () => 'retry' }).handlers
    expect(again.refused(written, late, passing)).toBe('retry')
  })

  test('is refused again: trying it once more does not help', () => {
    const { handlers } = setup({ onProductionError: () => 'retry' })
    const error = failureOf(() => handlers.refused(written, refused, final))
    expect(error).toMatchObject({ code: 'RECORD_UNWRITABLE', context: { sink: 'out' } })
  })
})

test('the bytes of records are kept only for those who may ask', () => {
  expect(setup({}).handlers.needsSource).toBe(false)
  expect(setup({ onProcessingError: 'continue' }).handlers.needsSource).toBe(false)
  expect(setup({ onProcessingError: () => 'fail' }).handlers.needsSource).toBe(true)
  expect(setup({ onProductionError: () => 'fail' }).handlers.needsSource).toBe(true)
  expect(setup({ deadLetterQueueTopic: 'dead' }).handlers.needsSource).toBe(true)
})

test('where letters cannot be written, the log says so', () => {
  const lines: string[] = []
  const log: Log = { ...silentLog, warn: (line) => lines.push(line) }
  const handling = { onProcessingError: 'continue', deadLetterQueueTopic: 'dead' } as const
  const { handlers, letters } = setup(handling, { log, canSend: false })
  handlers.failed('step', new Error('x'))
  expect(letters).toEqual([])
  expect(lines).toEqual([
    'dead letters of global stores are not written',
    'a record was passed over',
  ])
})

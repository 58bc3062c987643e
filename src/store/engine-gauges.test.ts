import { expect, test } from 'vitest'
import { MemoryEngine } from '../kv/memory-engine.ts'
import { MetricsRegistry } from '../metrics/registry.ts'
import { EngineGauges } from './engine-gauges.ts'

class CountingEngine extends MemoryEngine {
  readonly #bytes: number
  asked = 0

  constructor(bytes: number) {
    super()
    this.#bytes = bytes
  }

  gauges(): ReadonlyMap<string, number> {
    this.asked += 1
    return new Map([['block-cache-usage', this.#bytes]])
  }
}

const shown = (registry: MetricsRegistry): [string, string, number][] =>
  registry
    .families()
    .flatMap(({ name, series }) =>
      series.map(({ labels, metric }): [string, string, number] => [
        name,
        labels['task'] ?? '',
        'value' in metric ? metric.value : NaN,
      ]),
    )

test('engines are asked when somebody reads, and are gone when they are closed', () => {
  const registry = new MetricsRegistry()
  const gauges = new EngineGauges('counting', registry)
  const [first, second] = [new CountingEngine(10), new CountingEngine(20)]
  gauges.add('0_0', first)
  gauges.add('0_1', second)
  gauges.add('0_2', new MemoryEngine())
  expect(first.asked).toBe(0)
  const name = 'millpond_counting_block_cache_usage'
  expect(shown(registry)).toEqual([
    [name, '0_0', 10],
    [name, '0_1', 20],
  ])
  gauges.remove('0_0')
  gauges.remove('0_0')
  gauges.remove('0_2')
  expect(shown(registry)).toEqual([[name, '0_1', 20]])
  expect([first.asked, second.asked]).toEqual([1, 2])
  gauges.add('0_0', first)
  expect(shown(registry)).toHaveLength(2)
})

test('without a registry nobody is asked', () => {
  const gauges = new EngineGauges('counting', undefined)
  const engine = new CountingEngine(1)
  gauges.add('0_0', engine)
  gauges.remove('0_0')
  expect(engine.asked).toBe(0)
})

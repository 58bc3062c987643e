import type { KvEngine } from '../kv/kv.ts'
import type { MetricsRegistry } from '../metrics/registry.ts'

interface Collecting {
  readonly engine: KvEngine
  readonly collector: Disposable
  /** Names of metrics that have a series of this task. */
  readonly shown: Set<string>
}

/** What the engines of an instance know of themselves, as gauges by task. They are asked at each reading. */
export class EngineGauges {
  readonly #engineName: string
  readonly #registry: MetricsRegistry | undefined
  readonly #collecting = new Map<string, Collecting>()

  /** Without a registry nothing is shown. */
  constructor(engineName: string, registry: MetricsRegistry | undefined) {
    this.#engineName = engineName
    this.#registry = registry
  }

  /** The engine of a task was opened. */
  add(task: string, engine: KvEngine): void {
    if (this.#registry === undefined || engine.gauges === undefined) return
    const collector = this.#registry.onCollect(() => this.#collect(task))
    this.#collecting.set(task, { engine, collector, shown: new Set() })
  }

  /** It will be closed. Nothing happens when it was not added. */
  remove(task: string): void {
    const collecting = this.#collecting.get(task)
    if (collecting === undefined) return
    this.#collecting.delete(task)
    collecting.collector[Symbol.dispose]()
    for (const metric of collecting.shown) this.#registry?.remove(metric, { task })
  }

  #collect(task: string): void {
    const collecting = this.#collecting.get(task)
    for (const [name, value] of collecting?.engine.gauges?.() ?? []) {
      const metric = `millpond_${this.#engineName}_${name.replaceAll('-', '_')}`
      const help = `What ${this.#engineName} tells as ${name}.`
      this.#registry?.gauge(metric, help, { task }).set(value)
      collecting?.shown.add(metric)
    }
  }
}

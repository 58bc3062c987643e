import type { DescribedTopology } from './describe.ts'
import type { SinkNode, SourceNode, TopologyNode } from './node.ts'

/**
 * A topology as a Mermaid flowchart: each sub-topology is a box, topics stand between them, and stores
 * hang on the processors that use them.
 *
 *     topic → [ source → processor → sink ] → topic
 *                          │
 *                        store
 */
export function describeAsMermaid({ subtopologies, globalStores }: DescribedTopology): string {
  const chart = new Flowchart()
  for (const { id, nodes } of subtopologies) chart.box(`Sub-topology ${id}`, nodes)
  for (const { id, source, processor } of globalStores) {
    chart.box(`Sub-topology ${id}, a global store`, [source, processor])
  }
  return chart.text()
}

/** Lines of a flowchart, with ids for what may have any name. */
class Flowchart {
  readonly #boxes: string[] = []
  readonly #topics = new Map<string, string>()
  readonly #edges: string[] = []
  #boxCount = 0
  #nodeCount = 0

  box(title: string, nodes: readonly TopologyNode[]): void {
    const lines: string[] = []
    const ids = new Map<string, string>()
    const stores = new Map<string, string>()
    for (const node of nodes) {
      const id = this.#node()
      ids.set(node.name, id)
      lines.push(`    ${id}${shapeOf(node)}`)
      if (node.kind === 'source') this.#read(node, id)
      else for (const parent of node.parents) this.#edge(ids.get(parent) ?? '', '-->', id)
      if (node.kind === 'sink') this.#written(node, id)
      if (node.kind !== 'processor') continue
      for (const store of node.stores) {
        const storeId = stores.get(store) ?? this.#node()
        if (!stores.has(store)) lines.push(`    ${storeId}[(${quoted(store)})]`)
        stores.set(store, storeId)
        this.#edge(id, '---', storeId)
      }
    }
    this.#boxes.push(`  subgraph s${this.#boxCount} [${quoted(title)}]`, ...lines, '  end')
    this.#boxCount += 1
  }

  text(): string {
    const topics = [...this.#topics].map(([label, id]) => `  ${id}([${quoted(label)}])`)
    return ['flowchart TD', ...topics, ...this.#boxes, ...this.#edges, ''].join('\n')
  }

  #read({ topics, pattern }: SourceNode, id: string): void {
    const labels = pattern === undefined ? topics : [`/${pattern.text}/`]
    for (const label of labels) this.#edge(this.#topic(label), '-->', id)
  }

  #written({ topic }: SinkNode, id: string): void {
    const label = typeof topic === 'string' ? topic : `chosen by ${topic.name}`
    this.#edge(id, '-->', this.#topic(label))
  }

  #topic(label: string): string {
    const id = this.#topics.get(label) ?? `t${this.#topics.size}`
    this.#topics.set(label, id)
    return id
  }

  #node(): string {
    const id = `n${this.#nodeCount}`
    this.#nodeCount += 1
    return id
  }

  #edge(from: string, arrow: '-->' | '---', to: string): void {
    this.#edges.push(`  ${from} ${arrow} ${to}`)
  }
}

function shapeOf({ kind, name }: TopologyNode): string {
  switch (kind) {
    case 'source':
      return `[/${quoted(name)}/]`
    case 'processor':
      return `[${quoted(name)}]`
    case 'sink':
      return `[\\${quoted(name)}\\]`
    default:
      throw new TypeError(kind satisfies never)
  }
}

/** A label in quotes: names may have characters that mean something to Mermaid. */
function quoted(text: string): string {
  return `"${text.replaceAll('#', '#35;').replaceAll('"', '#quot;')}"`
}

/**
 * Walks over bytes as a schema says, without making values. Arrays and maps say how many elements
 * follow, and the library believes it: a few garbled bytes would keep it busy for hours. So bytes with
 * arrays or maps are walked over first, and every number is held against the bytes that are left.
 */
import type * as avsc from 'avsc'

/** Elements without bytes (such as null) that one value may have. */
const emptyElementsMax = 1_000_000

/** Bytes of the longest varint. */
const varintBytesMax = 10

class Walk {
  readonly bytes: Uint8Array
  at: number
  emptyElements = 0

  constructor(bytes: Uint8Array, at: number) {
    this.bytes = bytes
    this.at = at
  }

  skip(count: number): void {
    if (count < 0 || count > this.bytes.length - this.at) throw new Error('the bytes are cut off')
    this.at += count
  }

  /** A zigzag varint; beyond 2^53 it is not exact, and too much in every place. */
  long(): number {
    const { bytes } = this
    let value = 0
    let unit = 1
    for (let count = 0; count < varintBytesMax; count += 1) {
      if (this.at >= bytes.length) throw new Error('the bytes are cut off')
      const byte = bytes[this.at] as number
      this.at += 1
      value += (byte & 0x7f) * unit
      if (byte < 0x80) return value % 2 === 0 ? value / 2 : -(value + 1) / 2
      unit *= 128
    }
    throw new Error('a number has too many bytes')
  }
}

type Step = (walk: Walk) => void

/** Walks over the bytes from `start` on. Throws an Error where they contradict the schema. */
export type CountCheck = (bytes: Uint8Array, start: number) => void

/** The check for values of a type; undefined when it has no arrays and no maps. */
export function countCheck(type: avsc.Type): CountCheck | undefined {
  const compiler = new WalkCompiler()
  const step = compiler.step(type)
  if (!compiler.hasCounts) return undefined
  return (bytes, start) => step(new Walk(bytes, start))
}

class WalkCompiler {
  hasCounts = false
  readonly #steps = new Map<avsc.Type, Step>()

  step(type: avsc.Type): Step {
    const known = this.#steps.get(type)
    if (known !== undefined) return known
    // A record may contain itself: whoever meets it again goes through here.
    let made: Step = () => undefined
    this.#steps.set(type, (walk) => made(walk))
    made = this.#made(type)
    this.#steps.set(type, made)
    return made
  }

  #made(type: avsc.Type): Step {
    const { typeName } = type
    if (typeName.startsWith('logical:')) {
      return this.step((type as avsc.types.LogicalType).underlyingType)
    }
    switch (typeName) {
      case 'null':
        return () => undefined
      case 'boolean':
        return (walk) => walk.skip(1)
      case 'int':
      case 'long':
      case 'abstract:long':
      case 'enum':
        return (walk) => void walk.long()
      case 'float':
        return (walk) => walk.skip(4)
      case 'double':
        return (walk) => walk.skip(8)
      case 'bytes':
      case 'string':
        return (walk) => walk.skip(walk.long())
      case 'fixed': {
        const { size } = type as avsc.types.FixedType
        return (walk) => walk.skip(size)
      }
      case 'record':
      case 'error':
        return this.#record(type as avsc.types.RecordType)
      case 'union:wrapped':
      case 'union:unwrapped':
        return this.#union(type as avsc.types.UnwrappedUnionType)
      case 'array':
        return this.#blocks(this.step((type as avsc.types.ArrayType).itemsType))
      case 'map': {
        const value = this.step((type as avsc.types.MapType).valuesType)
        return this.#blocks((walk) => {
          walk.skip(walk.long())
          value(walk)
        })
      }
      default:
        throw new Error(`a schema has a type ${typeName}, which is not known`)
    }
  }

  #record(type: avsc.types.RecordType): Step {
    const steps = type.fields.map((field) => this.step(field.type))
    return (walk) => {
      for (const step of steps) step(walk)
    }
  }

  #union(type: avsc.types.UnwrappedUnionType): Step {
    const steps = type.types.map((branch) => this.step(branch))
    return (walk) => {
      const index = walk.long()
      const step = steps[index]
      if (step === undefined) throw new Error(`a union has no branch ${index}`)
      step(walk)
    }
  }

  /**
   * Blocks of elements: each has its count, or, when that is negative, its count and its bytes. Zero
   * ends them.
   */
  #blocks(element: Step): Step {
    this.hasCounts = true
    return (walk) => {
      for (let count = walk.long(); count !== 0; count = walk.long()) {
        let end: number | undefined
        if (count < 0) {
          count = -count
          const size = walk.long()
          end = walk.at + size
        }
        elements(walk, element, count)
        if (end !== undefined && walk.at !== end) {
          throw new Error('a block of elements is not as long as it says')
        }
      }
    }
  }
}

function elements(walk: Walk, element: Step, count: number): void {
  for (let left = count; left > 0; left -= 1) {
    const before = walk.at
    element(walk)
    if (walk.at !== before) continue
    walk.emptyElements += 1
    if (walk.emptyElements > emptyElementsMax) {
      throw new Error(`there are more than ${emptyElementsMax} elements without bytes`)
    }
  }
}

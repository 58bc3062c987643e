/** A .proto text with all that it imports, as types of the library `protobufjs`, and where each message is in it. */
import type * as protobuf from 'protobufjs'
import { optionalLibrary } from './optional-library.ts'
import { knownFiles } from './protobuf-known-files.ts'
import type { CompleteSchema } from './registered-schema.ts'

type Protobufjs = typeof protobuf

/** The name of the text itself, in messages of the library; no import has it. */
const ownPath = 'the schema'

export class ProtobufFile {
  readonly #library: Protobufjs
  readonly #root: protobuf.Root
  readonly #loaded = new Set<string>()
  readonly #package: string

  /** Throws an Error that says what is wrong with the text, or which import is not there. */
  constructor(schema: CompleteSchema) {
    this.#library = optionalLibrary('protobufjs', 'Protobuf') as Protobufjs
    this.#root = new this.#library.Root()
    const parts = new Map(schema.parts.map(({ name, text }) => [name, text]))
    this.#package = this.#parse(ownPath, schema.text, parts)
    this.#root.resolveAll()
  }

  /** The message of that name, with or without the package; undefined: the first of the file. */
  message(name: string | undefined): protobuf.Type {
    if (name === undefined) return this.messageAt([0])
    const found = this.#find(`${this.#package}.${name}`) ?? this.#find(name)
    if (found !== undefined) return found
    const names = this.#messagesIn(this.#ownNamespace()).map(fullNameOf)
    throw new Error(`it has no message ${name}; there are ${names.join(', ')}`)
  }

  /** The message at that place: the steps count messages, from the outermost on. */
  messageAt(steps: readonly number[]): protobuf.Type {
    let within: protobuf.NamespaceBase = this.#ownNamespace()
    for (const step of steps) {
      const message = this.#messagesIn(within)[step]
      if (message === undefined) {
        throw new Error(`it has no message at the place ${steps.join('.')}`)
      }
      within = message
    }
    return within as protobuf.Type
  }

  /** The place of a message of this file. */
  stepsOf(message: protobuf.Type): readonly number[] {
    const steps: number[] = []
    const own = this.#ownNamespace()
    let inner: protobuf.ReflectionObject = message
    while (inner !== own) {
      const outer: protobuf.ReflectionObject | null = inner.parent
      const step =
        outer === null
          ? -1
          : this.#messagesIn(outer as protobuf.Type).indexOf(inner as protobuf.Type)
      if (outer === null || step < 0) {
        throw new Error(
          `the message ${fullNameOf(message)} is in an import, and not in the file itself`,
        )
      }
      steps.unshift(step)
      inner = outer
    }
    return steps
  }

  /** Parses a file after its imports; its package. */
  #parse(path: string, text: string, parts: ReadonlyMap<string, string>): string {
    this.#loaded.add(path)
    const { parse } = this.#library
    ;(parse as { filename?: string | null }).filename = path
    const parsed = parse(text, this.#root, { keepCase: false })
    for (const imported of [...(parsed.imports ?? []), ...(parsed.weakImports ?? [])]) {
      if (!this.#loaded.has(imported)) this.#import(imported, parts)
    }
    return parsed.package ?? ''
  }

  #import(path: string, parts: ReadonlyMap<string, string>): void {
    const text = parts.get(path) ?? knownFiles[path]
    if (text === '') return
    if (text !== undefined) {
      this.#parse(path, text, parts)
      return
    }
    const common = this.#library.common.get(path)
    if (common === null) {
      throw new Error(`it imports ${path}, which is none of its references and not known otherwise`)
    }
    this.#loaded.add(path)
    this.#root.addJSON(common.nested ?? {})
  }

  #find(name: string): protobuf.Type | undefined {
    let found: protobuf.ReflectionObject | null = this.#root
    for (const step of name.replace(/^\./, '').split('.')) {
      found = found instanceof this.#library.Namespace ? found.get(step) : null
    }
    return found instanceof this.#library.Type ? found : undefined
  }

  #ownNamespace(): protobuf.NamespaceBase {
    if (this.#package === '') return this.#root
    return this.#root.lookup(this.#package) as protobuf.NamespaceBase
  }

  /** The messages that the text of this file has in a namespace, in its order. Groups are none. */
  #messagesIn(within: protobuf.NamespaceBase): protobuf.Type[] {
    return within.nestedArray.filter(
      (inner): inner is protobuf.Type =>
        inner instanceof this.#library.Type &&
        inner.filename === ownPath &&
        (inner as { group?: boolean }).group !== true,
    )
  }
}

/** The name of a message with its package. */
export function fullNameOf(message: protobuf.Type): string {
  return message.fullName.replace(/^\./, '')
}

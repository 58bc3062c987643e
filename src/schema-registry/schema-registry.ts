import { systemClock } from '../base/clock.ts'
import { systemRandom } from '../base/random.ts'
import { AvroFormat, type AvroOptions } from './avro-format.ts'
import type { Exchange } from './exchange.ts'
import { HttpExchange } from './http-exchange.ts'
import { JsonFormat, type JsonOptions } from './json-format.ts'
import { MockExchange } from './mock-exchange.ts'
import { ProtobufFormat, type ProtobufOptions } from './protobuf-format.ts'
import { RegistryClient } from './registry-client.ts'
import { resolveRegistryOptions, type SchemaRegistryOptions } from './registry-options.ts'
import { SubjectSerde, type RegistrySerde } from './registry-serde.ts'
import type { SchemaFormat, SubjectOptions } from './schema-format.ts'

/**
 * A Confluent-compatible schema registry, and the serdes whose schemas are in it. Topics can be shared with
 * programs that use Confluent's serdes: the bytes are the same.
 *
 * A schema is asked for when a serde needs it first, and then known for ever. Since serdes are synchronous
 * that holds up the thread (for `timeoutMs` at most), as it does in Java; `load()` asks before the start.
 *
 * @example
 * await using registry = new SchemaRegistry({ url: 'http://localhost:8081' })
 * const orders = topic('orders', {
 *   key: serdes.string,
 *   value: registry.avro<Order>({ subject: 'orders-value' }),
 * })
 * await registry.load()
 */
export class SchemaRegistry implements AsyncDisposable {
  readonly #client: RegistryClient
  readonly #exchange: Exchange
  readonly #serdes: Pick<RegistrySerde<unknown>, 'load'>[] = []

  /** Asks nothing yet. Throws `CONFIG_INVALID`. */
  constructor(options: SchemaRegistryOptions) {
    const { servers, mock, headers, secrets, timeoutMs, tls } = resolveRegistryOptions(options)
    this.#client = new RegistryClient({
      servers,
      timeoutMs,
      clock: systemClock,
      random: systemRandom,
    })
    this.#exchange =
      mock === undefined
        ? new HttpExchange({ headers, secrets, tls, clock: systemClock })
        : new MockExchange(mock)
  }

  /**
   * A serde for Avro; needs the package `avsc`. Records are objects, enums texts, bytes Buffers; a union of
   * types that can be told apart is the value itself, another one `{ 'the.Type': value }`.
   *
   * @throws `CONFIG_INVALID`, `SCHEMA_REGISTRY_LIBRARY_MISSING`
   */
  avro<T>(options: AvroOptions): RegistrySerde<T> {
    return this.#serde(new AvroFormat<T>(options), options)
  }

  /**
   * A serde for Protobuf; needs the package `protobufjs`. Messages are objects with the names of fields in
   * camelCase, enums texts, bytes Buffers.
   *
   * @throws `CONFIG_INVALID`, `SCHEMA_REGISTRY_LIBRARY_MISSING`
   */
  protobuf<T>(options: ProtobufOptions): RegistrySerde<T> {
    return this.#serde(new ProtobufFormat<T>(options), options)
  }

  /**
   * A serde for JSON that is validated by a JSON Schema; needs the package `ajv`.
   *
   * @throws `CONFIG_INVALID`, `SCHEMA_REGISTRY_LIBRARY_MISSING`
   */
  json<T>(options: JsonOptions): RegistrySerde<T> {
    return this.#serde(new JsonFormat<T>(options), options)
  }

  /**
   * Finds out what the serdes that were made until now need: the schemas to write with, and all versions
   * of their subjects. Afterwards only a version that is registered later holds up the thread.
   *
   * @throws `SCHEMA_REGISTRY_…` of the first serde that fails.
   */
  async load(): Promise<void> {
    for (const serde of this.#serdes) await serde.load()
  }

  /** Ends the thread that asks. Serdes go on with the schemas that they know. Idempotent. */
  async close(): Promise<void> {
    this.#client.close()
    await this.#exchange.close()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #serde<T>(
    format: SchemaFormat<T>,
    { subject, register = false }: SubjectOptions,
  ): RegistrySerde<T> {
    const parts = { subject, register, format, client: this.#client, exchange: this.#exchange }
    const serde = new SubjectSerde<T>(parts)
    this.#serdes.push(serde)
    // A plain object, as all serdes are: its functions can be taken out, and others put in their place.
    return Object.freeze({
      name: serde.name,
      text: serde.text,
      serialize: (value: T) => serde.serialize(value),
      deserialize: (bytes: Uint8Array) => serde.deserialize(bytes),
      load: () => serde.load(),
    })
  }
}

import { systemTransport, type Connection } from '../../src/base/transport.ts'
import { startBroker, type Broker, type BrokerOptions } from '../../src/broker/index.ts'
import { FrameBuffer } from '../../src/broker/frame-buffer.ts'
import type { Compression } from '../../src/protocol/compression.ts'
import { kafkaError } from '../../src/protocol/error-codes.ts'
import { decodeResponseHeader, encodeRequestHeader } from '../../src/protocol/header.ts'
import { produce } from '../../src/protocol/messages/0-produce.ts'
import { fetch } from '../../src/protocol/messages/1-fetch.ts'
import { createTopics } from '../../src/protocol/messages/19-create-topics.ts'
import { Reader } from '../../src/protocol/reader.ts'
import { RecordBatchReader } from '../../src/protocol/record-batch.ts'
import { RecordBatchBuilder } from '../../src/protocol/record-builder.ts'
import {
  decodeResponse,
  encodeRequest,
  type Api,
  type RequestInputOf,
  type ResponseOf,
} from '../../src/protocol/schema.ts'
import { Writer } from '../../src/protocol/writer.ts'

/** A client that knows frames and tables, and nothing else. */
export class RawClient {
  readonly #connection: Connection
  readonly #frames = new FrameBuffer(1_000_000_000)
  readonly #arrived: Buffer[] = []
  #wake: () => void = () => undefined
  isClosed = false
  #correlationId = 0

  constructor(connection: Connection) {
    this.#connection = connection
    connection.onData = (bytes) => {
      this.#frames.push(bytes)
      for (let frame = this.#frames.next(); frame !== undefined; frame = this.#frames.next())
        this.#arrived.push(frame)
      this.#wake()
    }
    connection.onClose = () => {
      this.isClosed = true
      this.#wake()
    }
  }

  /** Sends a request; `take` reads its response. */
  send<In, Out>(
    api: Api<In, unknown, unknown, Out>,
    version: number,
    body: In,
  ): { take: () => Promise<Out> } {
    const writer = new Writer()
    writer.int32(0)
    const correlationId = (this.#correlationId += 1)
    encodeRequestHeader(api, version, { correlationId, clientId: 'raw' }, writer)
    encodeRequest(api, version, body, writer)
    writer.patchInt32(0, writer.position - 4)
    this.raw(writer.finish())
    return {
      take: async () => {
        const reader = new Reader(await this.frame())
        const answered = decodeResponseHeader(api, version, reader)
        if (answered !== correlationId)
          throw new Error(`the answer to ${answered} came where that to ${correlationId} was due`)
        const response = decodeResponse(api, version, reader)
        if (reader.remaining > 0) throw new Error(`${reader.remaining} bytes follow the response`)
        return response
      },
    }
  }

  request<In, Out>(api: Api<In, unknown, unknown, Out>, version: number, body: In): Promise<Out> {
    return this.send(api, version, body).take()
  }

  raw(bytes: Uint8Array): void {
    this.#connection.write(bytes)
  }

  async frame(): Promise<Buffer> {
    await this.#until(() => this.#arrived.length > 0 || this.isClosed)
    const frame = this.#arrived.shift()
    if (frame === undefined) throw new Error('the connection was closed')
    return frame
  }

  closed(): Promise<void> {
    return this.#until(() => this.isClosed)
  }

  close(): void {
    this.#connection.destroy()
  }

  async #until(condition: () => boolean): Promise<void> {
    while (!condition()) {
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

const brokers: Broker[] = []

/** Starts a broker that `closeBrokers` closes. */
export async function start(options: BrokerOptions = {}): Promise<Broker> {
  const broker = await startBroker(options)
  brokers.push(broker)
  return broker
}

/** For `afterEach`. */
export async function closeBrokers(): Promise<void> {
  for (const broker of brokers.splice(0)) await broker.close()
}

/** Lets the broker go without another look at it: its disk is dead. */
export async function abandon(broker: Broker): Promise<void> {
  brokers.splice(brokers.indexOf(broker), 1)
  await broker.close().catch(() => undefined)
}

export async function connect(broker: Broker): Promise<RawClient> {
  const { port } = broker
  return new RawClient(await systemTransport.connect({ host: '127.0.0.1', port, timeoutMs: 5_000 }))
}

export async function create(
  client: RawClient,
  name: string,
  configs: Record<string, string> = {},
  numPartitions = 1,
): Promise<void> {
  const { topics } = await client.request(createTopics, 7, {
    topics: [
      {
        name,
        numPartitions,
        replicationFactor: 1,
        assignments: [],
        configs: Object.entries(configs).map(([key, value]) => ({ name: key, value })),
      },
    ],
  })
  const error = nameOf(topics[0]?.errorCode)
  if (error !== 'NONE') throw new Error(`creating ${name}: ${error}`)
}

export const nameOf = (code: number | undefined): string => kafkaError(code ?? -99).name

interface BatchOptions {
  producer?: { id: number; epoch: number; sequence: number }
  compression?: Compression
  timestamp?: number
}

export function batchOf(values: string[], options: BatchOptions = {}): Buffer {
  const builder = new RecordBatchBuilder()
  for (const value of values)
    builder.append(Buffer.from(value), Buffer.from(value), options.timestamp ?? 1_000)
  const { id, epoch, sequence } = options.producer ?? { id: -1, epoch: -1, sequence: -1 }
  return builder.build({
    producerId: id,
    producerEpoch: epoch,
    baseSequence: sequence,
    compression: options.compression,
  })
}

export const produceBody = (
  topic: string,
  records: Buffer | null,
  acks = -1,
  index = 0,
): RequestInputOf<typeof produce> => ({
  acks,
  timeoutMs: 1_000,
  topicData: [{ name: topic, partitionData: [{ index, records }] }],
})

type ProduceResponse = ResponseOf<typeof produce>['responses'][number]
type FetchResponse = ResponseOf<typeof fetch>['responses'][number]

/** The answer for one partition, its error by name. */
type ProducedPartition = Partial<ProduceResponse['partitionResponses'][number]> & { error: string }
type FetchedPartition = Partial<FetchResponse['partitions'][number]> & {
  error: string
  /** `offset:value` of each record. */
  values: string[]
}

export async function produceOne(
  client: RawClient,
  topic: string,
  records: Buffer | null,
  options: { acks?: number; index?: number; version?: number } = {},
): Promise<ProducedPartition> {
  const body = produceBody(topic, records, options.acks, options.index)
  const { responses } = await client.request(produce, options.version ?? 9, body)
  const partition = responses[0]?.partitionResponses[0]
  return { ...partition, error: nameOf(partition?.errorCode) }
}

type FetchBody = RequestInputOf<typeof fetch>

interface FetchOptions {
  offset?: number
  maxWaitMs?: number
  minBytes?: number
  maxBytes?: number
  leaderEpoch?: number
}

export const fetchBody = (topic: string, options: FetchOptions = {}): FetchBody => ({
  maxWaitMs: options.maxWaitMs ?? 0,
  minBytes: options.minBytes ?? 1,
  maxBytes: options.maxBytes ?? 1_000_000,
  topics: [
    {
      topic,
      partitions: [
        {
          partition: 0,
          currentLeaderEpoch: options.leaderEpoch ?? -1,
          fetchOffset: options.offset ?? 0,
          partitionMaxBytes: 1_000_000,
        },
      ],
    },
  ],
})

export async function fetchOne(
  client: RawClient,
  topic: string,
  options: FetchOptions = {},
): Promise<FetchedPartition> {
  const response = await client.request(fetch, 11, fetchBody(topic, options))
  const partition = response.responses[0]?.partitions[0]
  return { ...partition, error: nameOf(partition?.errorCode), values: valuesOf(partition?.records) }
}

export function valuesOf(records: Buffer | null | undefined): string[] {
  const values: string[] = []
  const reader = new RecordBatchReader()
  reader.reset(records ?? Buffer.alloc(0))
  while (reader.nextBatch())
    while (reader.next()) values.push(`${reader.offset}:${reader.valueString()}`)
  return values
}

/**
 * A real Apache Kafka on loopback, for tests and for `npm run kafka`: resolved through Maven into
 * `.cache/kafka/<version>`, KRaft brokers that are their own controllers, a fixed heap, and nothing
 * left behind when it is closed.
 */
import { spawn, spawnSync, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  createWriteStream,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { connect, createServer, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = resolve(fileURLToPath(new URL('../..', import.meta.url)))
const startTimeoutMs = 60_000
const stopTimeoutMs = 20_000
const probeTimeoutMs = 5_000
const probeIntervalMs = 200

/** What is missing on this machine for a real Kafka, in one sentence; undefined when all is there. */
export function kafkaUnavailable(): string | undefined {
  for (const [program, argument] of [
    ['java', '-version'],
    ['mvn', '-v'],
  ] as const) {
    if (spawnSync(program, [argument], { stdio: 'ignore' }).status !== 0) {
      return `A real Kafka needs Java 17 and Maven, and there is no \`${program}\` here.`
    }
  }
  return undefined
}

/** The jars of that release, fetched on first use. Throws an Error with Maven's own words. */
export function resolveKafka(version: string): string {
  const directory = join(root, '.cache', 'kafka', version)
  const library = join(directory, 'lib')
  if (existsSync(library)) return library
  const partial = join(directory, `lib.${process.pid}`)
  mkdirSync(partial, { recursive: true })
  const pom = join(directory, `pom.${process.pid}.xml`)
  writeFileSync(
    pom,
    `<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>millpond</groupId><artifactId>kafka</artifactId><version>1</version><dependencies>
<dependency><groupId>org.apache.kafka</groupId><artifactId>kafka_2.13</artifactId><version>${version}</version></dependency>
<dependency><groupId>org.slf4j</groupId><artifactId>slf4j-simple</artifactId><version>1.7.36</version></dependency>
</dependencies></project>`,
  )
  const goal = [
    '-q',
    '-B',
    '-f',
    pom,
    'dependency:copy-dependencies',
    `-DoutputDirectory=${partial}`,
  ]
  const { status, stdout } = spawnSync('mvn', goal, { encoding: 'utf8' })
  rmSync(pom, { force: true })
  if (status !== 0) {
    rmSync(partial, { recursive: true, force: true })
    throw new Error(`Maven could not resolve Kafka ${version}:\n${stdout.trim()}`)
  }
  if (existsSync(library)) rmSync(partial, { recursive: true, force: true })
  else renameSync(partial, library)
  return library
}

async function freePort(): Promise<number> {
  const server = createServer()
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  server.close()
  await once(server, 'close')
  return port
}

/** One more place where brokers listen, beside the plain one. */
export interface KafkaListener {
  /** Of capital letters: names its settings, `listener.name.<name>.…`. */
  readonly name: string
  readonly protocol: 'SSL' | 'SASL_PLAINTEXT' | 'SASL_SSL'
  /** Settings of this listener, without that prefix. */
  readonly properties: Readonly<Record<string, string>>
}

/** How a cluster is started. */
export interface KafkaClusterOptions {
  /** A release of Apache Kafka; default 4.4.0. */
  version?: string
  /** 1 (default) or 3. */
  brokers?: number
  /** Port of the first broker, the others follow; default: free ones. */
  port?: number
  /** Broker settings beyond those of a small test cluster. */
  properties?: Readonly<Record<string, string>>
  /** Heap of each broker in MB; default 1024. */
  heapMb?: number
  /** With TLS or SASL; on free ports, which `address` tells. Default: none. */
  listeners?: readonly KafkaListener[]
  /** Users with their passwords, for SCRAM-SHA-256 and SCRAM-SHA-512. Default: none. */
  scramUsers?: Readonly<Record<string, string>>
}

/** Where one broker listens. */
interface BrokerPorts {
  readonly client: number
  readonly controller: number
  readonly secured: ReadonlyMap<KafkaListener, number>
}

interface BrokerProcess {
  child: ChildProcess
  exited: Promise<unknown>
  logPath: string
  port: number
  /** Runs it again, on what it has written. */
  again: () => BrokerProcess
}

/** A running cluster; `close` stops it and removes its files. */
export class KafkaCluster implements AsyncDisposable {
  readonly version: string
  readonly bootstrap: readonly string[]
  readonly #directory: string
  readonly #ports: readonly BrokerPorts[]
  readonly #brokers: BrokerProcess[] = []

  private constructor(version: string, directory: string, ports: readonly BrokerPorts[]) {
    this.version = version
    this.bootstrap = ports.map(({ client }) => `127.0.0.1:${client}`)
    this.#directory = directory
    this.#ports = ports
  }

  static async start(options: KafkaClusterOptions = {}): Promise<KafkaCluster> {
    const version = options.version ?? '4.4.0'
    const count = options.brokers ?? 1
    const library = resolveKafka(version)
    const directory = mkdtempSync(join(tmpdir(), 'millpond-kafka-'))
    const ports: BrokerPorts[] = []
    for (let node = 0; node < count; node++) {
      const client = options.port === undefined ? await freePort() : options.port + node
      const secured = new Map<KafkaListener, number>()
      for (const listener of options.listeners ?? []) secured.set(listener, await freePort())
      ports.push({ client, controller: await freePort(), secured })
    }
    // Kafka's tool takes what begins with a dash for an option: one id of 64 would.
    const clusterId = randomBytes(16).toString('base64url').replace(/^-/, 'k')
    const heapMb = options.heapMb ?? 1024
    const cluster = new KafkaCluster(version, directory, ports)
    try {
      for (const [node, { client: port }] of ports.entries()) {
        const properties = writeProperties(directory, node, ports, options.properties ?? {})
        format(library, clusterId, { properties, scramUsers: options.scramUsers ?? {} })
        cluster.#brokers.push(
          launch(library, properties, { log: join(directory, `broker-${node}.log`), port, heapMb }),
        )
      }
      await Promise.all(cluster.#brokers.map(ready))
    } catch (error) {
      await cluster.close()
      throw error
    }
    return cluster
  }

  /** `host:port` of a listener of the first broker, for clients that know it as localhost. */
  address(name: string): string {
    for (const [listener, port] of this.#ports[0]?.secured ?? [])
      if (listener.name === name) return `localhost:${port}`
    throw new Error(`There is no listener ${name}.`)
  }

  /** Ends one broker without warning, as `kill -9` does. */
  async kill(index: number): Promise<void> {
    const broker = this.#brokers[index]
    if (broker === undefined) return
    signalGroup(broker, 'SIGKILL')
    await broker.exited
  }

  /** Ends one broker as `kill` does, and starts it again: its partitions have another leader epoch then. */
  async restart(index: number): Promise<void> {
    const broker = this.#brokers[index]
    if (broker === undefined) return
    await this.kill(index)
    const next = broker.again()
    this.#brokers[index] = next
    await ready(next)
  }

  /** Process ids, for whoever measures CPU time and memory. */
  get pids(): readonly number[] {
    return this.#brokers.flatMap(({ child }) =>
      spawnSync('pgrep', ['-P', String(child.pid), 'java'], { encoding: 'utf8' })
        .stdout.split('\n')
        .filter(Boolean)
        .map(Number),
    )
  }

  async close(): Promise<void> {
    await Promise.all(this.#brokers.map(stop))
    rmSync(this.#directory, { recursive: true, force: true })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }
}

function writeProperties(
  directory: string,
  node: number,
  ports: readonly BrokerPorts[],
  extra: Readonly<Record<string, string>>,
): string {
  const own = ports[node] as BrokerPorts
  const secured = [...own.secured]
  const open = secured.map(([{ name }, port]) => `,${name}://localhost:${port}`).join('')
  const protocols = secured.map(([{ name, protocol }]) => `,${name}:${protocol}`).join('')
  const replication = String(Math.min(3, ports.length))
  const settings: Record<string, string> = {
    'process.roles': 'broker,controller',
    'node.id': String(node),
    'controller.quorum.voters': ports
      .map(({ controller }, id) => `${id}@127.0.0.1:${controller}`)
      .join(','),
    listeners: `PLAINTEXT://127.0.0.1:${own.client},CONTROLLER://127.0.0.1:${own.controller}${open}`,
    'advertised.listeners': `PLAINTEXT://127.0.0.1:${own.client}${open}`,
    'controller.listener.names': 'CONTROLLER',
    'listener.security.protocol.map': `PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT${protocols}`,
    'log.dirs': join(directory, `data-${node}`),
    'num.partitions': '1',
    'offsets.topic.num.partitions': '3',
    'offsets.topic.replication.factor': replication,
    'transaction.state.log.num.partitions': '3',
    'transaction.state.log.replication.factor': replication,
    'transaction.state.log.min.isr': '1',
    'group.initial.rebalance.delay.ms': '0',
    'group.min.session.timeout.ms': '1000',
    // Kafka has these from 4.2 on; older ones pass over what they do not know.
    'group.streams.min.session.timeout.ms': '1000',
    'group.streams.min.heartbeat.interval.ms': '50',
    'group.streams.initial.rebalance.delay.ms': '0',
    'group.streams.assignment.interval.ms': '0',
    'auto.create.topics.enable': 'false',
    'log.cleaner.dedupe.buffer.size': '2097152',
    ...extra,
  }
  for (const [{ name, properties }] of secured)
    for (const [setting, value] of Object.entries(properties))
      settings[`listener.name.${name.toLowerCase()}.${setting}`] = value
  const path = join(directory, `server-${node}.properties`)
  // A certificate has several lines, a property has one.
  const lines = Object.entries(settings).map(
    ([name, value]) => `${name}=${value.replaceAll('\n', '\\n')}`,
  )
  writeFileSync(path, `${lines.join('\n')}\n`)
  return path
}

const classPath = (library: string): string =>
  readdirSync(library)
    .map((jar) => join(library, jar))
    .join(':')

function format(
  library: string,
  clusterId: string,
  { properties, scramUsers }: { properties: string; scramUsers: Readonly<Record<string, string>> },
): void {
  const tool = ['-cp', classPath(library), 'kafka.tools.StorageTool']
  const users = Object.entries(scramUsers).flatMap(([name, password]) =>
    ['SCRAM-SHA-256', 'SCRAM-SHA-512'].flatMap((mechanism) => [
      '--add-scram',
      `${mechanism}=[name=${name},password=${password}]`,
    ]),
  )
  const { status, stderr, stdout } = spawnSync(
    'java',
    [...tool, 'format', '-t', clusterId, '-c', properties, ...users],
    { encoding: 'utf8', env: { ...process.env, LC_ALL: 'C.UTF-8' } },
  )
  if (status !== 0) throw new Error(`Kafka's storage could not be formatted:\n${stdout}${stderr}`)
}

/**
 * Runs its arguments, and ends them when standard input closes: with us, however we end. A broker
 * whose cluster has gone would wait for it for minutes, so it gets a few seconds.
 */
const watched = `exec 3<&0; "$@" </dev/null & pid=$!
{
  cat <&3 >/dev/null; kill $pid
  for _ in $(seq ${stopTimeoutMs / 1000}); do kill -0 $pid || exit; sleep 1; done
  kill -9 $pid
} 2>/dev/null &
wait $pid`

function launch(
  library: string,
  properties: string,
  options: { log: string; port: number; heapMb: number },
): BrokerProcess {
  const { log: logPath, port, heapMb } = options
  const heap = `${heapMb}m`
  const java = ['java', `-Xms${heap}`, `-Xmx${heap}`, '-XX:+UseG1GC', '-cp', classPath(library)]
  const child = spawn('sh', ['-c', watched, 'sh', ...java, 'kafka.Kafka', properties], {
    // Its own group: a Ctrl-C in the terminal reaches us alone, and we stop it in order.
    detached: true,
    stdio: ['pipe', 'pipe', 'pipe'],
  })
  const log = createWriteStream(logPath, { flags: 'a' })
  child.stdout.pipe(log)
  child.stderr.pipe(log)
  const exited = new Promise<void>((done) => {
    child.once('exit', () => {
      child.stdin.destroy()
      done()
    })
  })
  const again = (): BrokerProcess => launch(library, properties, options)
  return { child, exited, logPath, port, again }
}

/** ApiVersions version 0 with correlation id 1 and no client id: what every broker answers. */
const apiVersionsRequest = Buffer.from('0000000a0012000000000001ffff', 'hex')

/** True when the broker answers a request, false when it does not listen or hangs up. */
function answers(port: number): Promise<boolean> {
  return new Promise((done) => {
    const socket = connect({ host: '127.0.0.1', port })
    const settle = (answer: boolean) => () => {
      socket.destroy()
      done(answer)
    }
    socket.setTimeout(probeTimeoutMs, settle(false))
    socket.once('connect', () => socket.write(apiVersionsRequest))
    socket.once('data', settle(true))
    socket.once('error', settle(false))
    socket.once('close', settle(false))
  })
}

/** Resolves when the broker answers; rejects with the end of its log. */
async function ready({ child, logPath, port }: BrokerProcess): Promise<void> {
  const deadline = Date.now() + startTimeoutMs
  while (!(await answers(port))) {
    const ended = child.exitCode !== null || child.signalCode !== null
    if (ended || Date.now() > deadline) {
      const tail = existsSync(logPath) ? readFileSync(logPath, 'utf8').split('\n').slice(-30) : []
      const reason = ended ? 'it ended' : `no answer within ${startTimeoutMs} ms`
      throw new Error(`Kafka did not start: ${reason}\n${tail.join('\n')}`)
    }
    await new Promise((done) => {
      setTimeout(done, probeIntervalMs)
    })
  }
}

/** To the broker and to what watches it. */
function signalGroup({ child }: BrokerProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) process.kill(-child.pid, signal)
}

async function stop(broker: BrokerProcess): Promise<void> {
  const { child, exited } = broker
  if (child.exitCode !== null || child.signalCode !== null) return
  child.stdin?.destroy()
  const timer = setTimeout(() => signalGroup(broker, 'SIGKILL'), stopTimeoutMs)
  await exited
  clearTimeout(timer)
}

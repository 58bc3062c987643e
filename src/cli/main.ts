#!/usr/bin/env node
/**
 * The program `millpond`. Exit codes: 0 done, 1 failed (one line on standard error says why), 2 wrong
 * usage, 130 interrupted before it was done.
 *
 * Each command is loaded when it runs: help and wrong usage need none of them.
 */
import { readFileSync } from 'node:fs'
import { Command, CommanderError, Option } from 'commander'
import type { BrokerCommandOptions } from './commands/broker.ts'
import type { DemoInstanceOptions } from './commands/demo-instance.ts'
import type { DescribeCommandOptions } from './commands/describe.ts'
import type { ResetCommandOptions } from './commands/reset.ts'
import {
  parseInstances,
  parsePort,
  parseRate,
  parseRepeated,
  type DemoOptions,
} from './demo/demo-options.ts'
import { failureLine } from './demo/parent-link.ts'
import {
  parseDatetime,
  parseDuration,
  parseNames,
  parseOffset,
  parseShift,
  readPlan,
} from './reset-options.ts'
import { parseTopic } from './topic-option.ts'

const exitCode = { failed: 1, usage: 2 }

/** As the command line gives them. */
type BrokerOptions = Omit<BrokerCommandOptions, 'topics'> & {
  topic?: BrokerCommandOptions['topics']
}

function version(): string {
  const manifest = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(manifest) as { version: string }).version
}

function brokerCommand(program: Command): void {
  program
    .command('broker')
    .summary('run a Kafka broker for development and tests')
    .description(
      'Runs a Kafka broker on one node, for development and tests: kcat, kafkajs and the Java ' +
        'clients work with it. In production use Apache Kafka.',
    )
    .option('--host <host>', 'where to listen', '127.0.0.1')
    .option('--port <port>', 'where to listen; 0: any free port', parsePort, 9092)
    .option('--data-dir <directory>', 'where to keep everything (default: in memory)')
    .option(
      '--topic <name:partitions:config=value>',
      'a topic that is to be there, such as lines:6 or counts:6:cleanup.policy=compact; can be repeated',
      parseTopic,
    )
    .option('--tls-cert <file>', 'clients must speak TLS: the certificate of the broker (PEM)')
    .option('--tls-key <file>', 'the key of the certificate (PEM)')
    .option('--sasl-users <file>', 'clients must say who they are: a line name:password for each')
    .action(async ({ topic = [], ...options }: BrokerOptions) => {
      const { runBroker } = await import('./commands/broker.ts')
      await runBroker({ ...options, topics: topic })
    })
}

function demoCommand(program: Command): void {
  program
    .command('demo')
    .summary('count words on two instances, with nothing but Node')
    .description(
      'Starts a broker, reads texts line by line, and counts their words on several instances, ' +
        'each a process with an HTTP port. A word is a run of letters and digits, in lower case. ' +
        'An instance that has died is started again by SIGUSR2 to the demo.',
    )
    .option(
      '--input <file>',
      "a text, - for standard input; can be repeated (default: the project's documentation)",
      parseRepeated,
    )
    .option('--instances <count>', 'how many instances', parseInstances, 2)
    .option('--port <port>', 'HTTP port of the first instance; 0: any free ports', parsePort, 7070)
    .option(
      '--rate <lines>',
      'lines a second (default: as fast as it goes; the documentation: 5)',
      parseRate,
    )
    .option(
      '--data-dir <directory>',
      'where to keep everything, to go on from there (default: temporary)',
    )
    .option('--once', 'end when all is counted, and print the ten most frequent words')
    .action(async (options: Partial<DemoOptions> & Omit<DemoOptions, 'input' | 'once'>) => {
      const { runDemo } = await import('./demo/demo.ts')
      const { input = [], once = false } = options
      process.exitCode = await runDemo({ ...options, input, once })
    })
}

function demoInstanceCommand(program: Command): void {
  program
    .command('demo-instance', { hidden: true })
    .summary('run one instance of the demo')
    .requiredOption('--broker <host:port>', 'the broker of the demo')
    .requiredOption('--port <port>', 'HTTP port; 0: any free port', parsePort)
    .requiredOption('--state-dir <directory>', 'where to keep its state')
    .action(async (options: DemoInstanceOptions) => {
      const { runDemoInstance } = await import('./commands/demo-instance.ts')
      await runDemoInstance(options)
    })
}

function describeCommand(program: Command): void {
  program
    .command('describe')
    .summary('show the topology that a module exports')
    .description(
      'Loads a module, and prints the topology that it exports as default or as `topology`; a ' +
        'builder will do as well. Nothing is connected to.',
    )
    .argument('<module>', 'a file that Node can load')
    .addOption(
      new Option('--format <format>', "text: as Java's describe(); mermaid: a flowchart")
        .choices(['text', 'json', 'mermaid'])
        .default('text'),
    )
    .action(async (module: string, options: DescribeCommandOptions) => {
      const { runDescribe } = await import('./commands/describe.ts')
      await runDescribe(module, options)
    })
}

/** Where to begin: one of these, by its property. */
const positions = [
  'toEarliest',
  'toLatest',
  'toOffset',
  'shiftBy',
  'toDatetime',
  'byDuration',
  'fromFile',
] as const satisfies readonly (keyof ResetCommandOptions)[]

function resetCommand(program: Command): void {
  const position = (flags: string, description: string): Option => {
    const option = new Option(flags, description)
    return option.conflicts(positions.filter((other) => other !== option.attributeName()))
  }
  program
    .command('reset')
    .summary('set an application back, so that it reads its input again')
    .description(
      'Sets the offsets of an application back and deletes its internal topics. No instance of it may ' +
        'run. What it has on the disks of its instances stays: delete that with cleanUp().',
    )
    .requiredOption('--application-id <id>', 'the application')
    .option('--bootstrap-server <list>', 'where Kafka is (default: localhost:9092)', parseNames)
    .option('--command-config <file>', 'TLS and SASL to the brokers, as JSON')
    .option('--input-topics <list>', 'topics that are to be read again', parseNames)
    .option(
      '--intermediate-topics <list>',
      'topics that the application writes and reads: passed over to their ends',
      parseNames,
    )
    .option('--internal-topics <list>', 'the internal topics to delete (default: all)', parseNames)
    .addOption(position('--to-earliest', 'read from the start (default)'))
    .addOption(position('--to-latest', 'read what comes from now on'))
    .addOption(position('--to-offset <offset>', 'read from this offset').argParser(parseOffset))
    .addOption(
      position(
        '--shift-by <count>',
        'read from so many after, or before, the committed offset',
      ).argParser(parseShift),
    )
    .addOption(
      position(
        '--to-datetime <time>',
        'read from this time, such as 2026-01-31T13:00:00.000; UTC',
      ).argParser(parseDatetime),
    )
    .addOption(
      position('--by-duration <duration>', 'read what is not older, such as P1DT2H30M').argParser(
        parseDuration,
      ),
    )
    .addOption(
      position(
        '--from-file <file>',
        'read from the offsets of a file: topic,partition,offset',
      ).argParser(readPlan),
    )
    .option('--force', 'take members out of the group that have not left it')
    .option('--dry-run', 'tell what would be changed, and change nothing')
    .action(async (options: ResetCommandOptions) => {
      const { runReset } = await import('./commands/reset.ts')
      process.exitCode = await runReset(options)
    })
}

function makeProgram(): Command {
  const program = new Command('millpond')
    .description('Stateful stream processing over Apache Kafka, with state that can be queried.')
    .version(version())
    .exitOverride()
    .showHelpAfterError('Try --help.')
  brokerCommand(program)
  demoCommand(program)
  demoInstanceCommand(program)
  describeCommand(program)
  resetCommand(program)
  return program
}

try {
  await makeProgram().parseAsync()
} catch (error) {
  if (error instanceof CommanderError) {
    // Help and version end like this as well, with 0.
    process.exitCode = error.exitCode === 0 ? 0 : exitCode.usage
  } else {
    process.stderr.write(`millpond: ${failureLine(error)}\n`)
    process.exitCode = exitCode.failed
  }
}

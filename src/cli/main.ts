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
import {
  parseInstances,
  parsePort,
  parseRate,
  parseRepeated,
  type DemoOptions,
} from './demo/demo-options.ts'
import { failureLine } from './demo/parent-link.ts'
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

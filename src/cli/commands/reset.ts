import { silentLog } from '../../base/log.ts'
import { KafkaClient } from '../../client/kafka-client.ts'
import { systemPorts } from '../../config.ts'
import { executeReset, planReset, type ResetPlan } from '../../runtime/application-reset.ts'
import type { ResetOffset } from '../../runtime/reset-position.ts'
import { readCommandConfig } from '../command-config.ts'
import { positionOf, type PositionOptions } from '../reset-options.ts'

export interface ResetCommandOptions extends PositionOptions {
  readonly applicationId: string
  /** Default `localhost:9092`. */
  readonly bootstrapServer?: readonly string[]
  /** A file that says how to connect. */
  readonly commandConfig?: string
  readonly inputTopics?: readonly string[]
  readonly intermediateTopics?: readonly string[]
  readonly internalTopics?: readonly string[]
  readonly dryRun?: boolean
  readonly force?: boolean
}

const bootstrapDefault = 'localhost:9092'

/**
 * Sets an application back, and tells what that changes. Returns the exit code: 1 when topics that
 * were named do not exist; all else is done then.
 */
export async function runReset(options: ResetCommandOptions): Promise<number> {
  const { applicationId, bootstrapServer = [bootstrapDefault], commandConfig } = options
  const { inputTopics = [], intermediateTopics = [], internalTopics = [] } = options
  const { force = false, dryRun = false } = options
  const position = positionOf(options, systemPorts.clock.now())
  await using client = new KafkaClient({
    brokers: [...bootstrapServer],
    log: silentLog,
    ...(commandConfig !== undefined && { security: readCommandConfig(commandConfig) }),
    ...systemPorts,
  })
  const plan = await planReset(client, {
    applicationId,
    inputTopics,
    intermediateTopics,
    internalTopics,
    position,
    force,
  })
  tell(plan)
  if (!dryRun) await executeReset(client, plan)
  const done = dryRun
    ? 'Nothing was changed: this was a dry run.'
    : 'Done. Before the application starts again, its state has to go on every instance: cleanUp() does that.'
  process.stdout.write(`${done}\n`)
  return plan.missingTopics.length === 0 ? 0 : 1
}

function tell(plan: ResetPlan): void {
  const { applicationId, isKnown, offsets, deletedTopics, missingTopics, removedMembers } = plan
  const lines = [
    ...(isKnown
      ? []
      : [
          `application ${applicationId}: is not known, there is no group of that name and no topic of its own`,
        ]),
    ...missingTopics.map((topic) => `topic ${topic}: does not exist, is left out`),
    ...removedMembers.map(({ memberId }) => `member ${memberId}: is taken out of the group`),
    ...offsets.map(lineOf),
    ...deletedTopics.map((topic) => `topic ${topic}: is deleted`),
  ]
  process.stdout.write(lines.map((line) => `${line}\n`).join(''))
}

function lineOf({ topic, partition, from, to, asked }: ResetOffset): string {
  const before = from === undefined ? 'nothing committed' : String(from)
  const reason = asked === undefined ? '' : `, as the log does not have ${asked}`
  return `offset of ${topic}-${partition}: ${before} -> ${to}${reason}`
}

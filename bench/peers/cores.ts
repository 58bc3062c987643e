/** Who runs where: the program under test has a core of its own, the broker and we have the others. */
import { spawnSync } from 'node:child_process'
import { availableParallelism, platform } from 'node:os'

const coreCount = availableParallelism()

const canPin = platform() === 'linux' && coreCount > 1 && spawnSync('taskset', ['-V']).status === 0

/** Said in the report. */
export const pinning = canPin
  ? `program on core ${coreCount - 1}, broker and load on core 0${coreCount > 2 ? ` to ${coreCount - 2}` : ''}`
  : 'nothing is pinned: taskset or a second core is missing'

/** Keeps this process, and what it starts from here on, off the core of the program. */
export function leaveProgramCore(): void {
  if (!canPin) return
  const cores = `0-${coreCount - 2}`
  const { status, stderr } = spawnSync('taskset', ['-a', '-c', '-p', cores, String(process.pid)])
  if (status !== 0) throw new Error(`taskset failed: ${String(stderr)}`)
}

/** The command, on the core of the program. */
export function onProgramCore(command: readonly string[]): string[] {
  return canPin ? ['taskset', '-c', String(coreCount - 1), ...command] : [...command]
}

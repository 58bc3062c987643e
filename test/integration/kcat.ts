import { spawn, spawnSync } from 'node:child_process'

/** What a run of kcat gave. */
export interface KcatResult {
  readonly code: number | null
  readonly stdout: string
  readonly stderr: string
}

/** Whether kcat is installed here. */
export const hasKcat: boolean = spawnSync('kcat', ['-V']).status === 0

/** Runs kcat against a broker until it ends by itself. */
export function kcat(address: string, args: readonly string[], input = ''): Promise<KcatResult> {
  return new Promise((resolve, reject) => {
    const child = spawn('kcat', ['-b', address, ...args])
    let stdout = ''
    let stderr = ''
    child.stdout.on('data', (bytes: Buffer) => {
      stdout += bytes.toString()
    })
    child.stderr.on('data', (bytes: Buffer) => {
      stderr += bytes.toString()
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, stdout, stderr }))
    child.stdin.end(input)
  })
}

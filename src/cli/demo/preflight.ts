import { accessSync, constants, mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { StreamsError, messageOf } from '../../errors.ts'
import { portMax, type DemoOptions } from './demo-options.ts'

/** What keeps the demo from starting, in one line for the user. */
export class PreflightError extends Error {}

/** Looks at everything that can be wrong before anything is started or written. */
export async function preflight(options: DemoOptions): Promise<void> {
  for (const path of options.input) checkInput(path)
  await checkPorts(options)
  if (options.dataDir !== undefined) checkDataDir(options.dataDir)
}

function checkInput(path: string): void {
  if (path === '-') return
  try {
    if (statSync(path).isDirectory()) {
      throw new PreflightError(`The input ${path} is a directory. Give the files in it.`)
    }
    accessSync(path, constants.R_OK)
  } catch (error) {
    if (error instanceof PreflightError) throw error
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT') throw new PreflightError(`The input ${path} does not exist.`)
    if (code === 'EACCES') throw new PreflightError(`The input ${path} may not be read.`)
    throw new PreflightError(`The input ${path} cannot be read: ${messageOf(error)}.`)
  }
}

async function checkPorts({ port, instances }: DemoOptions): Promise<void> {
  if (port === 0) return
  const last = port + instances - 1
  if (last > portMax) {
    throw new PreflightError(
      `The ports of the instances, ${port} to ${last}, must be at most ${portMax}. Give a lower --port.`,
    )
  }
  for (let index = 0; index < instances; index += 1) await checkPort(port + index)
}

function checkPort(port: number): Promise<void> {
  const host = '127.0.0.1'
  return new Promise((resolve, reject) => {
    const server = createServer()
    server.once('error', (error: NodeJS.ErrnoException) => {
      reject(
        error.code === 'EADDRINUSE'
          ? new StreamsError('ADDRESS_IN_USE', { host, port })
          : new PreflightError(`Port ${port} cannot be opened: ${error.message}.`),
      )
    })
    server.listen({ host, port }, () => server.close(() => resolve()))
  })
}

function checkDataDir(dataDir: string): void {
  const probe = join(dataDir, `.probe-${process.pid}`)
  try {
    mkdirSync(dataDir, { recursive: true })
    writeFileSync(probe, 'x')
    rmSync(probe)
  } catch (error) {
    throw new PreflightError(
      `The data directory ${dataDir} cannot be written: ${messageOf(error)}.`,
    )
  }
}

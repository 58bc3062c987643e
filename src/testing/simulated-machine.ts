import { MemoryDisk } from '../base/memory-disk.ts'
import { seededRandom } from '../base/random.ts'
import { SimulatedDisk } from '../base/simulated-disk.ts'
import type { SimulatedNetwork } from '../base/simulated-network.ts'
import type { VirtualProcess } from '../base/virtual-time.ts'
import type { Ports } from '../config.ts'

/**
 * A machine of a simulated cluster: a name, a disk that outlives everything, and one process at a time.
 */
export class SimulatedMachine {
  readonly host: string
  readonly disk = new MemoryDisk()
  readonly #network: SimulatedNetwork
  #process: VirtualProcess | undefined
  #bootCount = 1

  constructor(host: string, network: SimulatedNetwork) {
    this.host = host
    this.#network = network
  }

  /** The process that is there, dead ones not. */
  get process(): VirtualProcess | undefined {
    return this.#process?.isDead === false ? this.#process : undefined
  }

  /** Begins a process, and gives it the world. One that is still there is killed. */
  begin(): Ports {
    this.kill()
    this.#network.setSilent(this.host, false)
    const { time } = this.#network
    const process = time.process(this.host)
    time.note(this.host, `process ${process.id} begins`)
    // Whatever ends it: its open files and locks are free.
    process.onDeath(() => {
      time.note(this.host, `process ${process.id} is dead`)
      this.disk.crash('nothing')
    })
    this.#process = process
    return {
      clock: process.clock,
      random: seededRandom(Math.floor(time.random.next() * 2 ** 32)),
      transport: this.#network.transport(process),
      disk: new SimulatedDisk(this.disk, { process, bootId: `${this.host}-${this.#bootCount}` }),
      workersHere: true,
    }
  }

  /** Ends the process at once: what it wrote to the disk stays, its connections are closed. */
  kill(): void {
    this.#process?.kill()
    this.#process = undefined
  }

  /**
   * The machine loses its power: what was not synced is lost, and nobody is told. `begin` has it again,
   * as a new boot.
   */
  powerOff(): void {
    this.#network.setSilent(this.host, true)
    this.kill()
    this.disk.crash('unsynced')
    this.#bootCount += 1
  }
}

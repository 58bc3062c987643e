/** A dev broker in a process of its own, to be killed: tells its parent the port, and runs on. */
import { startBroker } from '../../src/broker/index.ts'

const broker = await startBroker({ dataDir: process.argv[2], defaultPartitions: 1 })
process.send?.({ port: broker.port })

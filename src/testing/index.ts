/** The door `millpond/testing`: tests of topologies without a broker, and of whole clusters. */
export type { ProducedRecord } from './produced-records.ts'
export {
  simulatedCluster,
  SimulatedCluster,
  type ReadRecord,
  type SimulatedClusterOptions,
  type SimulatedInstanceConfig,
  type SimulatedRecord,
} from './simulated-cluster.ts'
export { SimulatedInstance } from './simulated-instance.ts'
export {
  TestInputTopic,
  type TestInputOptions,
  type TestRecord,
  type TestTimes,
} from './test-input-topic.ts'
export { TestOutputTopic, type TestOutputRecord } from './test-output-topic.ts'
export type { TopologyTestDriverOptions } from './topology-test-driver-options.ts'
export { TopologyTestDriver } from './topology-test-driver.ts'

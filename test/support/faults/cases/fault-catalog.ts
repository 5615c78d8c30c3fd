import { databaseFaults } from './database-faults.ts'
import type { FaultCase } from './fault-case.ts'
import { networkFaults } from './network-faults.ts'
import { diskFaults, nodeFaults, storeFaults } from './node-and-disk-faults.ts'

export const catalog: readonly FaultCase[] = [
  ...networkFaults,
  ...databaseFaults,
  ...diskFaults,
  ...storeFaults,
  ...nodeFaults,
]

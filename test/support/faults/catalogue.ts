import type { FaultCase } from './case.ts'
import { databaseFaults } from './database-faults.ts'
import { networkFaults } from './network-faults.ts'
import { diskFaults, nodeFaults, storeFaults } from './other-faults.ts'

export const catalogue: readonly FaultCase[] = [
  ...networkFaults,
  ...databaseFaults,
  ...diskFaults,
  ...storeFaults,
  ...nodeFaults,
]

import { test } from 'node:test'
import { runFaults } from '../support/faults/suite.ts'

test('no fault of the database, the network, disks, stores, nodes or clocks loses what was acknowledged, and all nodes recover', async (t) => {
  await runFaults(t)
})

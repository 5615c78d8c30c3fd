import { collectGarbage } from '@berth/server/runtime/start-memory.ts'

/** Returns the bytes of this process that are in use, in the heap and in buffers, after collecting garbage. */
export async function readLiveMemory(): Promise<number> {
  await collectGarbage()
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

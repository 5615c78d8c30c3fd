import { Session } from 'node:inspector/promises'

/** Returns the bytes of this process that are in use, in the heap and in buffers, after collecting garbage. */
export async function readLiveMemory(): Promise<number> {
  const session = new Session()
  session.connect()
  try {
    await session.post('HeapProfiler.collectGarbage')
  } finally {
    session.disconnect()
  }
  const { heapUsed, external } = process.memoryUsage()
  return heapUsed + external
}

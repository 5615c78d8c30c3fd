/** Returns the result of `work`; rejects with a TimeoutError if there is none after `ms` milliseconds. The work itself continues. */
export async function withTimeout<T>(ms: number, work: Promise<T>): Promise<T> {
  const { promise: timeout, reject } = Promise.withResolvers<never>()
  const timer = setTimeout(() => reject(new DOMException(`no result within ${ms} ms`, 'TimeoutError')), ms)
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

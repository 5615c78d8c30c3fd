import { open } from 'node:fs/promises'

/** Returns the prototype of all file handles, for tests that replace its methods. `path`: any file. */
export async function fileHandlePrototype(path: string) {
  const file = await open(path)
  await file.close()
  return Object.getPrototypeOf(file)
}

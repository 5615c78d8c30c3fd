import type { ListenAddress } from './setting-values.ts'
import { SetupError } from './setup-errors.ts'

/** Runs `bind`. Throws a SetupError that names the setting if the address cannot be bound. */
export async function bindOrFail<T>(
  setting: string,
  { host, port }: ListenAddress,
  bind: () => Promise<T>,
): Promise<T> {
  try {
    return await bind()
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    if (code === 'EADDRINUSE')
      throw new SetupError(`${host}:${port} is in use; choose another address with ${setting}`)
    if (code === 'EACCES') throw new SetupError(`${setting}: no permission to listen on ${host}:${port}`)
    if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND')
      throw new SetupError(`${setting}: ${host} is not an address of this machine`)
    throw error
  }
}

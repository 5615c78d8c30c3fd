import { limits } from '../../config/limits.ts'
import { createOutbound } from '../../runtime/outbound/outbound.ts'
import { type Download, type DownloadOptions, download, urlProblem } from './download.ts'

/** Fetches files for a program that is not the server. */
export interface Fetcher {
  /** What is wrong with an address, or undefined. */
  urlProblem(url: string): string | undefined
  /** Rejects with a DownloadError. */
  fetch(url: string, options: Pick<DownloadOptions, 'signal' | 'onProgress'>): Promise<Download>
  close(): Promise<void>
}

/** Throws a TypeError for networks that are none. */
export function createFileFetcher(directory: string, privateNetworks: readonly string[]): Fetcher {
  let outbound: ReturnType<typeof createOutbound>
  try {
    outbound = createOutbound({ privateNetworks })
  } catch (cause) {
    throw new TypeError('networks must be in CIDR notation, such as 10.0.0.0/8', { cause })
  }
  const plainHttp = privateNetworks.length > 0
  return {
    urlProblem: (url) => urlProblem(url, { plainHttp }),
    async fetch(url, options) {
      const file = await download(url, { outbound, directory, bounds: limits, ...options })
      // Nobody said what is known already.
      if (file === undefined) throw new Error('a file that was asked for without a condition is unchanged')
      return file
    },
    close: () => outbound.close(),
  }
}

import { limits } from '../../config/limits.ts'
import { createOutbound } from '../../runtime/outbound/outbound.ts'
import { type Download, type DownloadOptions, download, urlProblem } from './download.ts'

/** Downloads files for programs other than the server. */
export interface Fetcher {
  /** Returns what is wrong with a URL, or undefined. */
  urlProblem(url: string): string | undefined
  /** Downloads a file. Rejects with a DownloadError. */
  fetch(url: string, options: Pick<DownloadOptions, 'signal' | 'onProgress'>): Promise<Download>
  close(): Promise<void>
}

/** Throws a TypeError for invalid networks. */
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
      // Unconditional requests cannot return "not modified".
      if (file === undefined) throw new Error('an unconditional request returned no file')
      return file
    },
    close: () => outbound.close(),
  }
}

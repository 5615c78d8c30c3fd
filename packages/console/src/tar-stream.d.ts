/** The types of tar-stream are those of Node. The console uses its reader only. */
declare module 'tar-stream' {
  import type { TarExtractor } from '@berth/advisory-formats/archives/read-tar.ts'

  export function extract(): TarExtractor
}

import { statSync } from 'node:fs'
import { packPackages } from './packages/pack.ts'

/** `npm run pack -- [directory]`: builds the published packages and writes their tarballs into the directory, by default dist/tarballs. */

const [, , directory = 'dist/tarballs'] = process.argv
for (const path of Object.values(packPackages(directory)))
  process.stdout.write(`${path}  ${(statSync(path).size / 1024).toFixed(0)} KiB\n`)

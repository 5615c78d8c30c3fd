import { statSync } from 'node:fs'
import { directoryArgument } from './directory-argument.ts'
import { packPackages } from './packages/pack.ts'

/** `npm run pack -- [directory]` */

const help = `Usage: npm run pack -- [directory]

Builds the packages that are published and writes their tarballs into the directory.
Without a directory, they are written into dist/tarballs.
`

const directory = directoryArgument(help, 'dist/tarballs')
for (const path of Object.values(packPackages(directory)))
  process.stdout.write(`${path}  ${(statSync(path).size / 1024).toFixed(0)} KiB\n`)

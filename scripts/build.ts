import { buildPackages } from './packages/build.ts'

/** `npm run build`: compiles the packages that are published into dist/berth, dist/cli and dist/client. */

for (const directory of Object.values(buildPackages())) process.stdout.write(`${directory}\n`)

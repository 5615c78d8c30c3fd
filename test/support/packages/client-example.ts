import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { promisify } from 'node:util'

/** The example of the README of the client, in a project that has the client from its tarball. */

const run = promisify(execFile)

/** What the example prints on a new organization. */
export const EXAMPLE_OUTPUT = "[ 'team-a' ] 1\n400 INVALID_ARGUMENT name\n"

/** Installs the tarball in an empty directory and compiles the example with strict checks, also of declarations. Returns its module. */
export async function installExample(directory: string, tarball: string, baseUrl: string): Promise<string> {
  mkdirSync(directory, { recursive: true })
  writeFileSync(join(directory, 'package.json'), '{ "type": "module", "private": true }')
  // Without dependencies, nothing is fetched.
  await run('npm', ['install', '--offline', '--no-audit', '--no-fund', resolve(tarball)], { cwd: directory })
  const blocks = readFileSync(join(directory, 'node_modules/@berth/client/README.md'), 'utf8').matchAll(
    /^```ts\n(.*?)^```$/gms,
  )
  const source = [...blocks].map(([, block]) => block).join('')
  writeFileSync(join(directory, 'example.ts'), source.replaceAll('http://127.0.0.1:8080', baseUrl))
  await typeCheck(directory, { types: ['node'], typeRoots: [resolve('node_modules/@types')] })
  return join(directory, 'example.js')
}

/** Compiles the modules of a project, as a consumer with strict options does. Rejects with the problems. */
export async function typeCheck(directory: string, options: object): Promise<void> {
  const compilerOptions = {
    ...{
      strict: true,
      skipLibCheck: false,
      noUncheckedIndexedAccess: true,
      exactOptionalPropertyTypes: true,
    },
    ...{ module: 'nodenext', target: 'es2022', lib: ['es2022', 'dom', 'dom.iterable', 'dom.asynciterable'] },
    rootDir: '.',
    ...options,
  }
  writeFileSync(join(directory, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }))
  await run(resolve('node_modules/.bin/tsc'), ['--project', directory]).catch((error) => {
    throw new Error(error.stdout)
  })
}

import type { Command } from 'commander'
import { describeBlobStore } from '../../installation/installation.ts'
import { printResult } from './output.ts'
import { readConfigOrExit, withBlobStore } from './with-installation.ts'

/** `berth admin adopt-store`: binds the configured blob store to the database. */
export function addAdoptStoreCommand(admin: Command): void {
  admin
    .command('adopt-store')
    .description('make the configured directory or bucket the blob store of the database')
    .option('--json', 'print JSON', false)
    .addHelpText('after', help)
    .action(({ json }: { json: boolean }) => {
      const config = readConfigOrExit()
      return withBlobStore(
        config,
        async (_, blobs) => {
          const identity = await blobs.identity.read()
          printResult(
            json,
            { identity },
            `${describeBlobStore(config)} is the blob store of the database: ${identity}\n`,
          )
        },
        { adopt: true },
      )
    })
}

const help = `
A server starts with the blob store of its database only. Use this command after the store was lost, or was moved
without its file store-identity. Do not use it for the store of another database: garbage collection deletes the
blobs that the database does not know. Then berth admin scrub lists the blobs that are missing.

Example:
  BERTH_BLOBS_S3_BUCKET=images-copy berth admin adopt-store
`

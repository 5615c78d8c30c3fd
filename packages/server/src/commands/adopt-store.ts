import type { CommandDeclaration } from '@berth/cli/invocation/command-declaration.ts'
import { describeBlobStore } from '../installation/installation.ts'
import { jsonOption } from './options.ts'
import { readConfigOrExit, withBlobStore } from './with-installation.ts'

/** `berth admin adopt-store`: binds the configured blob store to the database. */
export const adoptStoreCommand: CommandDeclaration = {
  name: 'adopt-store',
  summary: 'Make the configured directory or bucket the blob store of the database',
  options: [jsonOption],
  notes: `
A server starts only with the blob store of its database. Use this command after the store was lost, or was moved without
its file store-identity. Do not use it for the store of another database: garbage collection deletes the blobs that the
database does not know. Afterwards, berth admin scrub lists the blobs that are missing.`,
  examples: ['BERTH_BLOBS_S3_BUCKET=images-copy berth admin adopt-store'],
  async run({ output }) {
    const config = readConfigOrExit()
    await withBlobStore(
      config,
      async (_, blobs) => {
        const identity = await blobs.identity.read()
        const text = `${describeBlobStore(config)} is the blob store of the database: ${identity}\n`
        output.result({ identity }, text)
      },
      { adopt: true },
    )
  },
}

import type { CommandDeclaration, OptionDeclaration } from '../../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../../invocation/invocation.ts'
import { yesOption } from '../../../invocation/options.ts'
import { isTag } from '../../../oci-client/image-name.ts'
import { RegistryRepository } from '../../../oci-client/registry/repository.ts'
import {
  type ImageLocation,
  imageOptions,
  imageParameter,
  referenceOrLatest,
  withImageResolver,
} from '../image-location.ts'

/** Commands that set and delete tags and delete images. */

const allowMissingOption: OptionDeclaration = {
  flags: '--allow-missing',
  summary: 'succeed if it does not exist',
}

export const setTagCommand: CommandDeclaration = {
  name: 'set',
  aliases: ['move'],
  summary: 'Add tags to an image, moving tags that exist',
  parameters: [imageParameter, { name: 'TAG', summary: 'tags to set', required: true, variadic: true }],
  options: imageOptions,
  examples: [
    'berth images tags set my-org/app:1.4.2 1.4 1 latest',
    'berth images tags set my-org/app@sha256:… stable',
  ],
  run: (invocation) =>
    withImageResolver(invocation, async ({ resolve, signal }) => {
      const { store, name, ...location } = resolve(invocation.argument(0))
      const tags = invocation.variadicArgument(1)
      const wrong = tags.find((tag) => !isTag(tag))
      if (wrong !== undefined) throw new UsageError(`${JSON.stringify(wrong)} is not a valid tag`)
      const manifest = await store.getManifest(referenceOrLatest({ store, name, ...location }))
      for (const tag of tags) {
        signal.throwIfAborted()
        await store.putManifest(manifest, tag)
      }
      const { digest } = manifest
      await invocation.output.item(
        { name, digest, tags },
        {
          id: ({ digest }) => digest,
          columns: [
            { title: 'NAME', value: ({ name }) => name },
            { title: 'DIGEST', value: ({ digest }) => digest },
            { title: 'TAGS', value: ({ tags }) => tags.join(', ') },
          ],
        },
      )
    }),
}

async function deleteReference(invocation: Invocation, location: ImageLocation, what: string): Promise<void> {
  const { store, name, reference } = location
  if (!(store instanceof RegistryRepository))
    throw new UsageError(`${name} is a directory: delete the directory itself`)
  await invocation.prompt.confirm(`Delete ${what} from ${name}?`)
  if (await store.delete(reference)) return invocation.output.notice(`deleted ${what} from ${name}`)
  const notFound = `${isTag(reference) ? 'tag' : 'manifest'} '${reference}' not found in ${name}`
  if (!invocation.flag('allowMissing')) throw new UsageError(notFound)
  invocation.output.notice(notFound)
}

export const deleteTagCommand: CommandDeclaration = {
  name: 'delete',
  aliases: ['rm'],
  summary: 'Delete a tag; the image stays under its digest and other tags',
  parameters: [{ ...imageParameter, summary: 'my-org/app:1.0 or registry.example.com/app:1.0' }],
  options: [yesOption, allowMissingOption, ...imageOptions],
  examples: ['berth images tags delete my-org/app:old --yes'],
  run: (invocation) =>
    withImageResolver(invocation, async ({ resolve }) => {
      const location = resolve(invocation.argument(0))
      if (!isTag(location.reference)) throw new UsageError('specify a tag, such as my-org/app:1.0')
      await deleteReference(invocation, location, `tag ${location.reference}`)
    }),
}

export const deleteCommand: CommandDeclaration = {
  name: 'delete',
  aliases: ['rm'],
  summary: 'Delete an image and all its tags, by digest or tag',
  parameters: [
    { ...imageParameter, summary: 'my-org/app@sha256:…, or my-org/app:1.0 for the image of that tag' },
  ],
  options: [yesOption, allowMissingOption, ...imageOptions],
  examples: [
    'berth images delete my-org/app@sha256:… --yes',
    'berth images delete my-org/app:1.0 --yes --allow-missing',
  ],
  run: (invocation) =>
    withImageResolver(invocation, async ({ resolve }) => {
      const location = resolve(invocation.argument(0))
      if (location.reference === '')
        throw new UsageError('specify a tag or a digest; to delete a repo, use berth images repos delete')
      const digest = await location.store.resolveDigest(location.reference)
      const reference = digest ?? location.reference
      await deleteReference(invocation, { ...location, reference }, `${reference} and all its tags`)
    }),
}

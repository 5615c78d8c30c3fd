import type { ImageContents, ImagePackage, SbomFormat } from '@berth/client/berth.ts'
import type { CommandDeclaration, OptionDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import type { AuthInvocation } from '../../invocation/invoke.ts'
import { type ListDeclaration, listCommand } from '../../invocation/list-command.ts'
import { resolveRepoUid } from '../../invocation/resource-lookup.ts'
import { parseImageName } from '../../oci-client/image-name.ts'
import type { View } from '../../output/output.ts'
import { CommandFailed } from '../../session/access-token.ts'
import { platformOption } from './image-location.ts'

/** What images contain, as the server read them. */

export interface ImageRequest {
  readonly uid: string
  readonly reference: string
  readonly platform: string
}

export const storedImageParameter = {
  name: 'IMAGE',
  summary: 'my-org/app:1.0, or my-org/app@sha256:…',
  required: true,
} as const

export const waitOption: OptionDeclaration = {
  flags: '--wait',
  summary: 'wait up to 5 minutes until the server has read the image',
}
const WAIT_MS_MAX = 5 * 60_000
const POLL_MS = 500

/** What a command with `--wait` prints while it waits, and with which error it fails after 5 minutes. */
interface Waiting {
  readonly progress: string
  readonly failure: string
}

/** Reads until there is nothing left to wait for. */
export async function readWhenDone<T>(
  { output }: Pick<Invocation, 'output'>,
  read: () => Promise<T>,
  waitingFor: (value: T) => Waiting | undefined,
): Promise<T> {
  for (const end = Date.now() + WAIT_MS_MAX; ; await new Promise((resolve) => setTimeout(resolve, POLL_MS))) {
    const value = await read()
    const waiting = waitingFor(value)
    output.progress(waiting?.progress ?? '')
    if (waiting === undefined) return value
    if (Date.now() > end) throw new CommandFailed(waiting.failure)
  }
}

/** Returns the repo and the reference of an image in the registry of the server. */
async function resolveImage(invocation: Invocation, word: string): Promise<ImageRequest> {
  const name = parseImageName(word)
  if (typeof name === 'string') throw new UsageError(`${JSON.stringify(word)} ${name}`)
  const { registry } = (invocation as AuthInvocation).settings
  if (name.host !== '' && name.host !== registry)
    throw new UsageError(
      `${word} is in the registry ${name.host}; the server reads images of ${registry} only`,
    )
  const uid = await resolveRepoUid(invocation, name.repository)
  const platform = invocation.option('platform')
  return { uid, reference: name.digest ?? name.tag ?? 'latest', platform }
}

/** Waits, with `--wait`, until the image was read. Fails if it could not be read, or not in time. */
export async function resolveReadImage(invocation: Invocation, word: string): Promise<ImageRequest> {
  const image = await resolveImage(invocation, word)
  if (!invocation.flag('wait')) return image
  const client = await invocation.client()
  const { state, reason } = await readWhenDone(
    invocation,
    () => client.imageContents.getImageContents(image),
    (contents) =>
      contents.state === 'CONTENTS_STATE_PENDING'
        ? { progress: `waiting until ${word} is read`, failure: `${word} was not read within 5 minutes` }
        : undefined,
  )
  if (state === 'CONTENTS_STATE_FAILED')
    throw new CommandFailed(`${word} could not be read, because ${reason}`)
  return image
}

const packageView: View<ImagePackage> = {
  id: ({ purl }) => purl,
  columns: [
    { title: 'NAME', kind: 'name', value: ({ name }) => name },
    { title: 'VERSION', value: ({ version }) => version },
    { title: 'TYPE', value: ({ type }) => type },
    { title: 'LICENSE', value: ({ license }) => license },
    { title: 'ORIGIN', value: ({ originName }) => originName, wide: true },
    { title: 'BUILT', kind: 'time', value: ({ buildTime = '' }) => buildTime, wide: true },
    { title: 'END OF LIFE', kind: 'time', value: ({ endOfLifeTime = '' }) => endOfLifeTime, wide: true },
    { title: 'PURL', value: ({ purl }) => purl, wide: true },
    { title: 'PATH', value: ({ path }) => path, wide: true },
    { title: 'LAYER', kind: 'uid', value: ({ layer }) => layer, wide: true },
  ],
  empty: 'the image has no such packages',
}

const packageList: ListDeclaration<ImagePackage> = {
  name: 'packages',
  summary: 'List the packages that an image contains',
  parameters: [storedImageParameter],
  options: [
    platformOption,
    { flags: '--type <type>', summary: 'type of package, such as apk or npm' },
    { flags: '--name-prefix <text>', summary: 'start of the name' },
    { flags: '--license <text>', summary: 'part of the license, in any case' },
    waitOption,
  ],
  notes:
    'The server reads each image after it is pushed: the SBOMs that are attached to it, else its layers. What could not be read, and a distribution that receives no more fixes, is reported on standard error.',
  examples: [
    'berth images packages my-org/app:1.0',
    'berth images packages my-org/app:1.0 --type npm --license gpl --wait',
    'berth images packages my-org/app:1.0 --platform linux/arm64 -o json',
  ],
  view: () => packageView,
  items: listPackages,
}

async function* listPackages(invocation: Invocation): AsyncGenerator<ImagePackage> {
  const client = await invocation.client()
  const image = await resolveReadImage(invocation, invocation.argument(0))
  reportProblems(invocation, await client.imageContents.getImageContents(image))
  yield* client.imageContents.all({
    ...image,
    type: invocation.option('type'),
    namePrefix: invocation.option('namePrefix'),
    license: invocation.option('license'),
  })
}

function reportProblems({ output }: Invocation, { problems, state, distribution }: ImageContents): void {
  if (state === 'CONTENTS_STATE_PENDING') output.notice('the image is to be read again')
  const end = distribution?.endOfLifeTime
  if (end !== undefined && Date.parse(end) <= Date.now())
    output.notice(`${distribution?.name || distribution?.id} has received no fixes since ${end.slice(0, 10)}`)
  for (const { path, reason } of problems)
    output.notice(`${path === '' ? 'the image' : path} could not be read, because ${reason}`)
}

const formats = { spdx: 'SBOM_FORMAT_SPDX', cyclonedx: 'SBOM_FORMAT_CYCLONEDX', original: undefined } as const

const sbomCommand: CommandDeclaration = {
  name: 'sbom',
  summary: 'Print an SBOM of an image',
  parameters: [storedImageParameter],
  options: [
    platformOption,
    {
      flags: '--format <format>',
      summary: 'spdx (2.3), cyclonedx (1.6), or original: as it was attached',
      choices: Object.keys(formats),
      default: 'spdx',
    },
    waitOption,
  ],
  examples: [
    'berth images sbom my-org/app:1.0 > app.spdx.json',
    'berth images sbom my-org/app:1.0 --format cyclonedx --wait',
    'berth images sbom my-org/app@sha256:… --format original',
  ],
  async run(invocation) {
    const client = await invocation.client()
    const image = await resolveReadImage(invocation, invocation.argument(0))
    const format: SbomFormat | undefined = formats[invocation.option('format') as keyof typeof formats]
    const sbom = await client.imageContents.getImageSbom({
      ...image,
      ...(format === undefined ? {} : { format }),
    })
    invocation.output.result(sbom, `${sbom.sbom.trimEnd()}\n`)
  },
}

export const contentsCommands: readonly CommandDeclaration[] = [listCommand(packageList), sbomCommand]

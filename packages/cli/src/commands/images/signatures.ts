import type { ImageSignature, ImageSignatures, SignatureState } from '@berth/client/berth.ts'
import type { CommandDeclaration } from '../../invocation/command-declaration.ts'
import { type Invocation, UsageError } from '../../invocation/invocation.ts'
import { parentFilterOption } from '../../invocation/options.ts'
import { resolveRepoUid } from '../../invocation/resource-lookup.ts'
import type { View } from '../../output/output.ts'
import { CommandFailed } from '../../session/access-token.ts'

/** Verified signatures of an image in the platform's registry. */

const stateName = (state: SignatureState) => state.replace('SIGNATURE_STATE_', '').toLowerCase()

const signatureView: View<ImageSignature> = {
  id: ({ digest }) => digest,
  columns: [
    { title: 'STATE', kind: 'name', value: ({ state }) => stateName(state) },
    {
      title: 'VERIFIED BY',
      value: ({ verifications }) => verifications.map(({ verifierName }) => verifierName).join(', '),
    },
    { title: 'IDENTITY', kind: 'long', value: ({ verifications: [first] }) => first?.identity ?? '' },
    { title: 'SIGNED', kind: 'time', value: ({ verifications: [first] }) => first?.signTime ?? '' },
    { title: 'REASON', kind: 'long', value: ({ reason }) => reason },
    {
      title: 'FORMAT',
      value: ({ format }) => format.replace('SIGNATURE_FORMAT_', '').toLowerCase(),
      wide: true,
    },
    { title: 'ISSUER', value: ({ verifications: [first] }) => first?.issuer ?? '', wide: true },
    { title: 'TAG', value: ({ tag }) => tag, wide: true },
    { title: 'DIGEST', kind: 'uid', value: ({ digest }) => digest, wide: true },
  ],
  empty: 'the image is not signed',
}

/** Splits `my-org/app:1.0` or `my-org/app@sha256:…`; `latest` if neither is given. */
function parseImage(word: string): { readonly repo: string; readonly reference: string } {
  const at = word.indexOf('@')
  const colon = word.lastIndexOf(':')
  const hasTag = colon > word.lastIndexOf('/')
  if (at >= 0) {
    const name = word.slice(0, at)
    const cut = name.lastIndexOf(':')
    return { repo: cut > name.lastIndexOf('/') ? name.slice(0, cut) : name, reference: word.slice(at + 1) }
  }
  const repo = hasTag ? word.slice(0, colon) : word
  if (repo === '') throw new UsageError(`'${word}' is not an image, such as my-org/app:1.0`)
  return { repo, reference: hasTag ? word.slice(colon + 1) : 'latest' }
}

async function readSignatures(invocation: Invocation): Promise<ImageSignatures> {
  const { repo, reference } = parseImage(invocation.argument(0))
  const parent = invocation.option('parent') || invocation.property('default.group')
  const path = repo.includes('/') || parent === '' ? repo : `${parent}/${repo}`
  const uid = await resolveRepoUid(invocation, path)
  return (await invocation.client()).signatures.getImageSignatures({ uid, reference })
}

export const signaturesCommand: CommandDeclaration = {
  name: 'signatures',
  summary: 'List the signatures of an image, and who verified them',
  parameters: [{ name: 'IMAGE', summary: 'my-org/app:1.0 or my-org/app@sha256:…', required: true }],
  options: [
    parentFilterOption,
    { flags: '--require-verified', summary: 'exit code 1 unless a signature is verified' },
  ],
  examples: [
    'berth images signatures my-org/app:1.0',
    'berth images signatures my-org/app@sha256:… --require-verified -o json',
  ],
  async run(invocation) {
    const { output } = invocation
    const { state, digest, signatures, truncated, verifierCount } = await readSignatures(invocation)
    await output.list(signatures, signatureView)
    if (truncated) output.notice(`${digest} has more signatures than are verified`)
    if (verifierCount === 0)
      output.notice('no signature verifiers apply to the repo; create one with berth images verifiers create')
    if (invocation.flag('requireVerified') && state !== 'SIGNATURE_STATE_VERIFIED')
      throw new CommandFailed(`no signature of ${digest} is verified: the image is ${stateName(state)}`)
  },
}

import type { Identity } from '@berth/client'
import { identityKind } from '@berth/workloads/identity-kinds.ts'
import { dockerLogin } from '@berth/workloads/pull-secret.ts'
import { createSnippet, type SnippetSystem, snippets } from '@berth/workloads/snippets.ts'
import { describeTrust } from '@berth/workloads/trust.ts'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { stringify } from 'yaml'
import { useAddressState } from '../../address-state.ts'
import { ancestorNamesQuery } from '../../api/queries/paths.ts'
import { session } from '../../api/session.ts'
import { folderPathOf, usePath } from '../../components/breadcrumbs.tsx'
import { Command, Equivalent } from '../../components/copy.tsx'
import { FileText } from '../../components/file-text.tsx'
import { SelectFilter } from '../../components/filter-bar.tsx'

const systems: readonly { readonly id: SnippetSystem; readonly name: string }[] = [
  { id: 'github', name: 'GitHub Actions' },
  { id: 'gitlab', name: 'GitLab CI' },
  { id: 'buildkite', name: 'Buildkite' },
  { id: 'kubernetes', name: 'Kubernetes' },
]

/** How workloads use an identity: a workflow for each platform, or commands. */
export function Workflow({ identity }: { readonly identity: Identity }) {
  const { uid } = identity
  const [{ platform = '' }] = useAddressState()
  const { data: ancestors } = useQuery(ancestorNamesQuery(uid))
  const folderPath = folderPathOf(usePath(uid, identity.name))
  if (identityKind(identity) === 'pull_token')
    return (
      <>
        <p>Sign in with this command, paste the password, and press Enter and Ctrl-D:</p>
        <Command text={dockerLogin(session.registryHost, uid)} label="the command" />
        <p className="muted note">The password was shown when the pull token was created.</p>
      </>
    )
  const { platform: own } = describeTrust(identity)
  const ownSystem = systems.find(({ id }) => id === own)
  const shown = systems.find(({ id }) => id === platform) ?? ownSystem
  // Tokens of any issuer may be from a server of one of these systems.
  const isOpen = identity.claimMatch !== undefined
  return (
    <>
      {isOpen && (
        <div className="page-form">
          <SelectFilter
            label="Platform"
            name="platform"
            choices={systems.filter(({ id }) => id !== own)}
            anyLabel={ownSystem?.name ?? 'Any, with the command line'}
          />
        </div>
      )}
      {shown !== undefined && ancestors !== undefined ? (
        <Snippet identity={identity} system={shown.id} groupPath={folderPath} />
      ) : (
        <Commands identity={identity} />
      )}
      <p className="note">
        If the platform's token is not accepted,{' '}
        <Link to="/identities/$" params={{ _splat: uid }} search={{ tab: 'explain' }}>
          test it
        </Link>
        : each condition is shown with what the token has.
      </p>
      {shown !== undefined && (
        <Equivalent command={`berth iam identities describe ${uid} --snippet ${shown.id}`} />
      )}
    </>
  )
}

function Snippet({
  identity,
  system,
  groupPath,
}: {
  readonly identity: Identity
  readonly system: SnippetSystem
  readonly groupPath: string
}) {
  const text = createSnippet(system, identity, {
    addresses: { issuer: location.origin, api: session.apiUrl, registry: session.registryHost },
    groupPath,
    stringify,
  })
  return (
    <>
      <p className="note">
        Store this file and replace the image by yours. It contains no secret: each run gets a token of its
        own.
      </p>
      <FileText name={snippets[system].file} text={text} label="the workflow" />
    </>
  )
}

/** For workloads of other platforms, which have the command line. */
function Commands({ identity }: { readonly identity: Identity }) {
  const { uid, awsIdentity } = identity
  return (
    <>
      <p className="note">
        {awsIdentity === undefined
          ? 'With the token of the platform in a file, the command line signs in as this identity:'
          : 'With the credentials of AWS in the environment, the command line signs in as this identity:'}
      </p>
      <Command
        text={`berth auth login --identity ${uid}${awsIdentity === undefined ? ' --identity-token token.jwt' : ''}`}
        label="the command that signs in"
      />
      <Command text="berth auth configure-docker" label="the command for docker" />
    </>
  )
}

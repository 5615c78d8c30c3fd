import type { IdentityProvider, IdentityProviderSCIM } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { providerQuery } from '../../api/queries/organization.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Command, Equivalent, Id } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { Time } from '../../components/time.tsx'
import { EditProviderDialog } from './provider-dialogs.tsx'

interface ProviderProps {
  readonly uid: string
  readonly organization: string
  readonly roleOf: (uid: string) => string
}

/** One identity provider: its settings, what to register there, and a test of it. */
export function Provider({ uid, organization, roleOf }: ProviderProps) {
  const query = useQuery(providerQuery(uid))
  return (
    <>
      <Link to="." search={{ tab: 'sign-in' }}>
        All identity providers
      </Link>
      {query.data === undefined ? (
        <NotLoaded what="the identity provider" query={query} />
      ) : (
        <Details provider={query.data} organization={organization} roleOf={roleOf} />
      )}
      <Equivalent command={`berth iam identity-providers describe ${uid}`} />
    </>
  )
}

type DetailsProps = Pick<ProviderProps, 'organization' | 'roleOf'> & {
  readonly provider: Versioned<IdentityProvider>
}

function Details({ provider, organization, roleOf }: DetailsProps) {
  const { uid, name, description, oidc, redirectUri, signInProblem, defaultRole, scim } = provider.value
  const [isEditing, setEditing] = useState(false)
  const access = useAccess()
  const missingToTest = access.missing(organization, 'identity_providers.update')
  const missing = missingToTest ?? access.missing(organization, 'role_bindings.create')
  return (
    <>
      <div className="section-head">
        <h2>{name}</h2>
        <ActionButton label="Edit" isQuiet missing={missing} onPress={() => setEditing(true)} />
      </div>
      {signInProblem !== '' && (
        <p className="alert" role="alert">
          {signInProblem}
        </p>
      )}
      {description !== '' && <p className="description">{description}</p>}
      <Facts
        facts={[
          ['Issuer', oidc?.issuer],
          ['Client ID', oidc?.clientId],
          ['Client secret', 'stored, and never shown'],
          ['Role of new users', roleOf(defaultRole)],
          ['Scopes', ['openid', ...(oidc?.additionalScopes ?? [])].join(' ')],
          [
            'Groups claim',
            oidc?.groupsClaim || (
              <span key="none" className="muted">
                none: groups are not read
              </span>
            ),
          ],
          ['PKCE', oidc?.pkceEnabled ? 'used' : 'not used'],
          ['Uid', <Id key="uid" value={uid} label={`the uid of ${name}`} />],
        ]}
      />
      <section>
        <h3>Redirect URI</h3>
        <p className="muted">Register exactly this address at the provider, and no other.</p>
        <Command text={redirectUri} label="the redirect URI" />
      </section>
      <section>
        <h3>Test</h3>
        <p className="muted">
          Signs in at the provider in a new tab, and reports each step there. You stay signed in as you are,
          and no user is registered.
        </p>
        <p className="note">
          {missingToTest === undefined ? (
            <a
              className="button quiet"
              href={`/sign-in/test-provider?with=${encodeURIComponent(uid)}`}
              target="_blank"
              rel="noreferrer"
            >
              Test the sign-in
            </a>
          ) : (
            <ActionButton
              label="Test the sign-in"
              isQuiet
              missing={missingToTest}
              onPress={() => undefined}
            />
          )}
        </p>
      </section>
      {scim !== undefined && <Scim scim={scim} />}
      {isEditing && (
        <EditProviderDialog
          provider={provider}
          organization={organization}
          onClose={() => setEditing(false)}
        />
      )}
    </>
  )
}

function Scim({ scim }: { readonly scim: IdentityProviderSCIM }) {
  const state = scim.credentialState.replace('CREDENTIAL_STATE_', '').toLowerCase().replaceAll('_', ' ')
  return (
    <section>
      <h3>SCIM provisioning</h3>
      <Facts
        facts={[
          ['State', scim.enabled ? 'enabled' : 'not enabled'],
          ['Endpoint', scim.endpointUrl || undefined],
          ['Token', state === 'unspecified' ? undefined : state],
          ['Token expires', scim.tokenExpireTime && <Time key="expiry" value={scim.tokenExpireTime} />],
        ]}
      />
    </section>
  )
}

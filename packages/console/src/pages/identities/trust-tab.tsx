import type { Identity } from '@berth/client'
import { identityKind } from '@berth/workloads/identity-kinds.ts'
import { describeTrust } from '@berth/workloads/trust.ts'
import { type ReactNode, useState } from 'react'
import { useAccess } from '../../api/access.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { Actions } from '../../components/actions.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { readKeys } from './rule.ts'
import { KeysDialog, RuleDialog } from './rule-dialogs.tsx'

/** Who can assume an identity, in words and as the exact conditions. */
export function TrustTab({ identity }: { readonly identity: Versioned<Identity> }) {
  const { uid, staticKeys } = identity.value
  const [dialog, setDialog] = useState<'rule' | 'keys' | undefined>()
  const missing = useAccess().missing(uid, 'identity.update')
  const close = () => setDialog(undefined)
  const kind = identityKind(identity.value)
  const isEditable = kind === 'claim_match' || kind === 'aws' || kind === 'static'
  return (
    <>
      <p>{sentenceOf(identity.value)}</p>
      <Facts facts={conditionsOf(identity.value)} />
      {staticKeys !== undefined && <Keys text={staticKeys.issuerKeys} />}
      {isEditable && (
        <div className="note">
          <Actions
            of="tab"
            actions={[
              { label: 'Change the rule', isQuiet: true, missing, onPress: () => setDialog('rule') },
              ...(kind === 'static'
                ? [{ label: 'Add or replace keys', isQuiet: true, missing, onPress: () => setDialog('keys') }]
                : []),
            ]}
          />
        </div>
      )}
      <Equivalent command={`berth iam identities describe ${uid}`} />
      {dialog === 'rule' && <RuleDialog identity={identity} onClose={close} />}
      {dialog === 'keys' && <KeysDialog identity={identity} onClose={close} />}
    </>
  )
}

function sentenceOf(identity: Identity): string {
  const [first = '', ...rest] = describeTrust(identity).words
  const of = rest.length === 0 ? '' : ` for ${rest.join(', ')}`
  switch (identityKind(identity)) {
    case 'claim_match':
      return `A workload can assume this identity with a token of ${first}${of}.`
    case 'static':
      return 'A workload can assume this identity with a token that is signed with one of the keys below.'
    case 'pull_token':
      return 'The holder of the pull token can assume this identity. Delete it to revoke the token.'
    case 'aws':
      return `A workload can assume this identity with the credentials of ${first}${of}.`
    case 'service_principal':
      return 'A service of the platform can assume this identity.'
    case 'user':
      return 'The user assumes this identity by signing in.'
  }
}

function Exact({ value }: { readonly value: string }) {
  return (
    <>
      <span className="second">exactly</span>
      <code>{value}</code>
    </>
  )
}

function Pattern({ value }: { readonly value: string }) {
  return (
    <>
      <span className="second">matches the pattern</span>
      <code>{value}</code>
    </>
  )
}

function either(exact: string | undefined, pattern: string | undefined): ReactNode {
  if (exact !== undefined) return <Exact value={exact} />
  return pattern === undefined ? undefined : <Pattern value={pattern} />
}

const DEFAULT_AUDIENCE = 'the token service of this server'

function conditionsOf({
  claimMatch,
  staticKeys,
  awsIdentity,
}: Identity): readonly (readonly [string, ReactNode])[] {
  if (claimMatch !== undefined) {
    const { claims = {}, claimPatterns = {} } = claimMatch
    return [
      ['Issuer', either(claimMatch.issuer, claimMatch.issuerPattern)],
      ['Subject', either(claimMatch.subject, claimMatch.subjectPattern)],
      ['Audience', either(claimMatch.audience, claimMatch.audiencePattern) ?? DEFAULT_AUDIENCE],
      ...Object.entries(claims).map(
        ([name, value]) => [`Claim ${name}`, <Exact key={name} value={value} />] as const,
      ),
      ...Object.entries(claimPatterns).map(
        ([name, value]) => [`Claim ${name} `, <Pattern key={name} value={value} />] as const,
      ),
    ]
  }
  if (staticKeys !== undefined)
    return [
      ['Issuer', <Exact key="issuer" value={staticKeys.issuer} />],
      ['Subject', <Exact key="subject" value={staticKeys.subject} />],
      ['Audience', either(staticKeys.audiences?.[0], undefined) ?? DEFAULT_AUDIENCE],
    ]
  if (awsIdentity !== undefined)
    return [
      ['Account', <Exact key="account" value={awsIdentity.awsAccount} />],
      ['ARN', either(awsIdentity.arn, awsIdentity.arnPattern)],
      ['User id', either(awsIdentity.userId, awsIdentity.userIdPattern)],
    ]
  return []
}

function Keys({ text }: { readonly text: string }) {
  const keys = readKeys(text)
  return (
    <section>
      <h2>Public keys</h2>
      {keys === undefined ? (
        <p className="muted">The stored text is no JSON Web Key Set, so no token can be accepted.</p>
      ) : (
        <ul>
          {keys.map(({ id, type }, at) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: keys of a set need no id
            <li key={at}>
              {type || 'Key'} {id === '' ? '' : <code>{id}</code>}
            </li>
          ))}
        </ul>
      )}
    </section>
  )
}

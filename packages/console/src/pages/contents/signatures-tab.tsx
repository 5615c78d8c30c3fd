import type { ImageSignature, ImageSignatures, SignatureState } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link } from '@tanstack/react-router'
import { useAccess } from '../../api/access.ts'
import { signaturesQuery } from '../../api/queries/contents/signatures.ts'
import { parentOf } from '../../api/queries/groups.ts'
import { Badge, type Tone } from '../../components/badge.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Digest } from '../../components/digest.tsx'
import { Facts } from '../../components/facts.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'
import type { ImageTabProps } from './image-tab.ts'
import '../../styles/pages/contents.css'

/** Who signed an image, as far as the verifiers of its folders can tell. */
export function SignaturesTab({ repo, path, digest, platforms }: ImageTabProps) {
  const access = useAccess()
  const missing = access.missing(repo, 'record_signatures.list') ?? access.missing(repo, 'manifest.list')
  const query = useQuery({ ...signaturesQuery(repo, digest), enabled: missing === undefined })
  if (missing !== undefined) return <NoPermission label="Signatures" reason={missing} />
  if (query.data === undefined) return <NotLoaded what="the signatures" query={query} />
  const { signatures, truncated, verifierCount, checkTime } = query.data
  return (
    <>
      <StateText signatures={query.data} />
      <Facts
        facts={[
          [
            'Verifiers',
            <Link
              key="verifiers"
              to="/folders/$"
              params={{ _splat: parentOf(repo) }}
              search={{ tab: 'pull-policies', section: 'verifiers' }}
            >
              {verifierCount === 0 ? 'none yet: create one' : formatNumber(verifierCount)}
            </Link>,
          ],
          ['Checked', <Time key="checked" value={checkTime} isRelative />],
        ]}
      />
      {platforms.length > 0 && (
        <p className="hint">
          Signatures of an index do not count for its platform images, nor the reverse. Each platform image
          has a page of its own.
        </p>
      )}
      {truncated && (
        <p className="caution">The image has more than 50 signatures. Only the first 50 are verified.</p>
      )}
      {signatures.length > 0 && (
        <section>
          <h2>Signatures</h2>
          <PlainTable
            label="Signatures"
            items={signatures}
            keyOf={(one, at) => `${at} ${one.digest}`}
            columns={[
              { id: 'state', title: 'State', cell: (one) => <State signature={one} /> },
              { id: 'signer', title: 'Verified as', cell: (one) => <Verifications signature={one} /> },
              { id: 'format', title: 'Format', cell: (one) => formats[one.format] },
              {
                id: 'digest',
                title: 'Stored in',
                cell: (one) => (
                  <>
                    <Digest repo={repo} digest={one.digest} object="the signature" />
                    {one.tag !== '' && <bdi className="second">{one.tag}</bdi>}
                  </>
                ),
              },
              {
                id: 'name',
                title: 'Name at signing',
                cell: ({ dockerReference }) =>
                  dockerReference === '' ? (
                    <span className="muted">none</span>
                  ) : (
                    <bdi className="package-name">{dockerReference}</bdi>
                  ),
              },
            ]}
          />
        </section>
      )}
      <Equivalent command={`berth images signatures ${quoted(`${path}@${digest}`)}`} />
    </>
  )
}

const formats = {
  SIGNATURE_FORMAT_UNSPECIFIED: 'unknown',
  SIGNATURE_FORMAT_COSIGN: 'cosign',
  SIGNATURE_FORMAT_SIGSTORE_BUNDLE: 'sigstore bundle',
  SIGNATURE_FORMAT_NOTATION: 'Notation',
} as const

const states: Readonly<Record<SignatureState, { readonly name: string; readonly tone: Tone }>> = {
  SIGNATURE_STATE_UNSPECIFIED: { name: 'unknown', tone: 'plain' },
  SIGNATURE_STATE_UNSIGNED: { name: 'unsigned', tone: 'plain' },
  SIGNATURE_STATE_VERIFIED: { name: 'verified', tone: 'good' },
  SIGNATURE_STATE_UNTRUSTED: { name: 'untrusted', tone: 'warn' },
  SIGNATURE_STATE_INVALID: { name: 'invalid', tone: 'bad' },
}

function StateText({
  signatures: { state, signatures, verifierCount },
}: {
  readonly signatures: ImageSignatures
}) {
  const { name, tone } = states[state]
  const isUntrusted = state === 'SIGNATURE_STATE_UNTRUSTED'
  return (
    <p className="signature-state">
      <Badge tone={tone}>{name}</Badge>{' '}
      {state === 'SIGNATURE_STATE_VERIFIED' && <>Signed by {signersOf(signatures)}.</>}
      {state === 'SIGNATURE_STATE_UNSIGNED' && 'The image has no signatures.'}
      {state === 'SIGNATURE_STATE_INVALID' && 'All signatures are invalid.'}
      {isUntrusted && verifierCount > 0 && 'The image is signed, but no verifier trusts a signature.'}
      {isUntrusted &&
        verifierCount === 0 &&
        'The image is signed, but there is no verifier that could trust it.'}
    </p>
  )
}

function signersOf(signatures: readonly ImageSignature[]): string {
  const names = signatures.flatMap(({ verifications }) =>
    verifications.map(({ verifierName, identity }) =>
      identity === '' ? `a key of ${verifierName}` : `${identity} (${verifierName})`,
    ),
  )
  return [...new Set(names)].join(', ')
}

function State({ signature: { state, reason } }: { readonly signature: ImageSignature }) {
  const { name, tone } = states[state]
  return (
    <>
      <Badge tone={tone}>{name}</Badge>
      {reason !== '' && <bdi className="second long-words">{reason}</bdi>}
    </>
  )
}

function Verifications({ signature: { verifications } }: { readonly signature: ImageSignature }) {
  if (verifications.length === 0) return <span className="muted">not verified</span>
  return (
    <ul className="plain-list">
      {verifications.map(({ verifier, verifierName, identity, issuer, signTime }) => (
        <li key={verifier}>
          <bdi className="package-name">{identity === '' ? `key of ${verifierName}` : identity}</bdi>
          <span className="second">
            by the verifier <bdi>{verifierName}</bdi>
            {issuer !== '' && (
              <>
                , issuer <bdi>{issuer}</bdi>
              </>
            )}
            {signTime !== undefined && (
              <>
                , <Time value={signTime} />
              </>
            )}
          </span>
        </li>
      ))}
    </ul>
  )
}

import { Badge } from '../../components/badge.tsx'
import { Equivalent, quoted } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import type { SettingsTabProps } from './settings.tsx'

const DOMAIN = /^[a-z0-9-]+(\.[a-z0-9-]+)+$/

/** Whether users with an email address of the organization's domain find it. The domain is its name. */
export function Domains({ organization }: SettingsTabProps) {
  const { name, verified, kind } = organization.value
  const isDomain = DOMAIN.test(name)
  return (
    <>
      <Facts
        facts={[
          [
            'Verified by the operator',
            verified ? (
              <Badge key="yes" tone="good">
                verified
              </Badge>
            ) : (
              <Badge key="no">not verified</Badge>
            ),
          ],
          [
            'Email domain',
            isDomain ? (
              name
            ) : (
              <span key="none" className="muted">
                none: the name is not a domain
              </span>
            ),
          ],
          ['Kind', kind === 'ORG_KIND_UNSPECIFIED' ? undefined : kind.replace('ORG_KIND_', '').toLowerCase()],
        ]}
      />
      <section>
        <h2>What verification does</h2>
        <ul>
          <li>
            Users find the identity provider of a verified organization by its name:{' '}
            <em>Sign in with your organization</em>. Others need a sign-in link.
          </li>
          <li>
            If the name of a verified organization is a domain, such as acme.com, users with a verified email
            address of it find the organization and can ask its owners for access. Domains of public email
            providers never match.
          </li>
          <li>Pages before a sign-in warn about organizations that are not verified.</li>
        </ul>
        <p className="note">
          {verified && isDomain && `Users with an address @${name} can find this organization.`}
          {verified &&
            !isDomain &&
            'Rename the organization to its domain if users must find it by their addresses.'}
          {!verified && 'Only the operator of this server can verify an organization.'}
        </p>
      </section>
      <Equivalent command={`berth iam organizations describe ${quoted(name)}`} />
    </>
  )
}

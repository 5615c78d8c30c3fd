import type { Advisory } from '@berth/client'
import { useAddressState } from '../../address-state.ts'
import { affectedImagesQuery } from '../../api/queries/contents/findings.ts'
import { Digest } from '../../components/digest.tsx'
import { FilterBar, SelectFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import { affectingStates, FindingPackage, FindingStateBadge } from '../contents/finding-texts.tsx'
import { TagList } from '../manifests/tag-list.tsx'

const TAGS_SHOWN = 5

/** The images of the organization with the vulnerability of an advisory. */
export function AffectedImages({ advisory: { uid, advisoryId, aliases } }: { readonly advisory: Advisory }) {
  const [organization = ''] = uid.split('/')
  const [{ vulnerability: chosen = '' }] = useAddressState()
  // An advisory of a distribution may be about several vulnerabilities: each has images of its own.
  const cves = aliases.filter((alias) => alias.startsWith('CVE-'))
  const [first = aliases[0] ?? advisoryId, ...others] = cves
  const vulnerability = cves.includes(chosen) ? chosen : first
  return (
    <>
      {others.length > 0 && (
        <FilterBar>
          <SelectFilter
            label="Vulnerability"
            name="vulnerability"
            choices={others.map((id) => ({ id, name: id }))}
            anyLabel={first}
          />
        </FilterBar>
      )}
      <PageList
        label="Affected images"
        query={affectedImagesQuery(organization, vulnerability, affectingStates)}
        keyOf={({ repoUid, digest, finding }) => [repoUid, digest, finding?.purl].join(' ')}
        columns={[
          {
            id: 'image',
            title: 'Image',
            cell: ({ repoUid, digest }) => <Digest repo={repoUid} digest={digest} object="the image" />,
          },
          {
            id: 'tags',
            title: 'Tags',
            cell: ({ tags }) => <TagList tags={tags} tagCount={tags.length} max={TAGS_SHOWN} />,
          },
          {
            id: 'package',
            title: 'Package',
            cell: ({ finding }) => finding && <FindingPackage finding={finding} />,
          },
          {
            id: 'state',
            title: 'State',
            cell: ({ finding }) => finding && <FindingStateBadge state={finding.state} />,
          },
        ]}
        empty={
          <p>
            No image of the organization is known to have it. Images that are not read yet, or whose packages
            have no advisories, are not known.
          </p>
        }
      />
    </>
  )
}

import type { ImageContents, ImagePackage } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Button } from 'react-aria-components'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import {
  contentsQuery,
  type ImageReference,
  isPending,
  type PackageFilter,
  packagesQuery,
} from '../../api/queries/contents/packages.ts'
import { CopyButton, Equivalent, quoted } from '../../components/copy.tsx'
import { shortDigest } from '../../components/digest.tsx'
import { FilterBar, FilterChips, SelectFilter, TextFilter } from '../../components/filter-bar.tsx'
import { NotLoaded } from '../../components/loaded.tsx'
import { NoPermission } from '../../components/no-permission.tsx'
import { PageList } from '../../components/page-list.tsx'
import type { PlainColumn } from '../../components/plain-table.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import { formatDay } from '../../components/time.tsx'
import { ContentsFacts } from './contents-facts.tsx'
import type { ImageTabProps } from './image-tab.ts'
import { Sboms } from './sboms.tsx'
import '../../styles/pages/contents.css'

/** The packages of an image, and its SBOMs. */
export function PackagesTab(props: ImageTabProps) {
  const { repo, digest, platforms } = props
  const access = useAccess()
  const [{ platform = platforms[0] ?? '' }] = useAddressState()
  const image: ImageReference = { uid: repo, reference: digest, platform }
  const missing = access.missing(repo, 'repo.list') ?? access.missing(repo, 'sboms.list')
  const query = useQuery({ ...contentsQuery(image), enabled: missing === undefined })
  if (missing !== undefined) return <NoPermission label="Packages" reason={missing} />
  return (
    <>
      {platforms.length > 0 && (
        <FilterBar>
          <SelectFilter
            label="Platform"
            name="platform"
            anyLabel={platforms[0] ?? ''}
            choices={platforms.slice(1).map((id) => ({ id, name: id }))}
          />
        </FilterBar>
      )}
      {query.data === undefined ? (
        <NotLoaded what="the packages" query={query} />
      ) : (
        <ContentsFacts
          key={platform}
          image={image}
          contents={query.data}
          missing={access.missing(repo, 'manifest.update')}
        />
      )}
      {query.data?.readTime === undefined ? (
        <Equivalent command={commandOf(props, image, noFilter)} />
      ) : (
        <Contents {...props} image={image} contents={query.data} />
      )}
    </>
  )
}

interface ContentsProps extends ImageTabProps {
  readonly image: ImageReference
  readonly contents: ImageContents
}

const noFilter: PackageFilter = { type: '', namePrefix: '', license: '', orderBy: 'name' }

function Contents({ image, contents, ...props }: ContentsProps) {
  const [{ type = '', name = '', license = '', order = 'name' }, change] = useAddressState()
  const filter: PackageFilter = { type, namePrefix: name, license, orderBy: order }
  const set = [
    ['type', type],
    ['name', name === '' ? '' : `Name: ${name}`],
    ['license', license === '' ? '' : `License: ${license}`],
  ] as const
  const active = set.filter(([, text]) => text !== '')
  const version = isPending(contents) ? 'pending' : (contents.readTime ?? '')
  return (
    <>
      <section>
        <h2>Packages</h2>
        <FilterBar>
          <TextFilter label="Name starts with" name="name" placeholder="openssl" />
          <SelectFilter
            label="Ecosystem"
            name="type"
            choices={contents.typeCounts.map(({ type: id, count }) => ({
              id,
              name: `${id} (${formatNumber(count)})`,
            }))}
          />
          <TextFilter label="License contains" name="license" placeholder="GPL" />
        </FilterBar>
        <FilterChips set={active} />
        <PageList
          label="Packages"
          query={packagesQuery(image, filter, version)}
          keyOf={({ purl, path, layer }) => `${purl} ${path} ${layer}`}
          columns={columns}
          order={{ value: order, onChange: (next) => change({ order: next === 'name' ? '' : next }) }}
          empty={
            active.length === 0 ? (
              <p>No packages were found in the image.</p>
            ) : (
              <p>
                No package matches these filters.{' '}
                <Button className="link" onPress={() => change({ type: '', name: '', license: '' })}>
                  Show all packages
                </Button>
              </p>
            )
          }
        />
      </section>
      <Sboms image={image} contents={contents} path={props.path} />
      <Equivalent command={commandOf(props, image, filter)} />
    </>
  )
}

function commandOf(
  { path, digest }: Pick<ImageTabProps, 'path' | 'digest'>,
  { platform }: ImageReference,
  { type, namePrefix, license }: PackageFilter,
): string {
  const option = (name: string, value: string) => (value === '' ? '' : ` ${name} ${quoted(value)}`)
  return [
    `berth images packages ${quoted(`${path}@${digest}`)}`,
    option('--platform', platform),
    option('--type', type),
    option('--name-prefix', namePrefix),
    option('--license', license),
  ].join('')
}

const unknown = <span className="muted">unknown</span>

const columns: readonly PlainColumn<ImagePackage>[] = [
  {
    id: 'name',
    title: 'Package',
    sortKey: 'name',
    cell: ({ name, namespace, purl }) => (
      <>
        <span className="with-copy">
          <bdi className="package-name">{name}</bdi>
          <CopyButton text={purl} label={`the package URL of ${name}`} />
        </span>
        {namespace !== '' && <bdi className="second">{namespace}</bdi>}
      </>
    ),
  },
  {
    id: 'version',
    title: 'Version',
    cell: ({ version, architecture, buildTime }) => (
      <>
        {version === '' ? unknown : <bdi className="package-name">{version}</bdi>}
        {architecture !== '' && <bdi className="second">{architecture}</bdi>}
        {buildTime !== undefined && <span className="second">built {formatDay(buildTime)}</span>}
      </>
    ),
  },
  { id: 'type', title: 'Ecosystem', sortKey: 'type', cell: ({ type }) => type },
  {
    id: 'origin',
    title: 'Source package',
    cell: ({ originName, originVersion, name, version }) =>
      originName === '' ? (
        <span className="muted">none</span>
      ) : (
        <>
          <bdi className={originName === name ? 'package-name muted' : 'package-name'}>{originName}</bdi>
          {originVersion !== '' && originVersion !== version && <bdi className="second">{originVersion}</bdi>}
        </>
      ),
  },
  {
    id: 'license',
    title: 'License',
    cell: ({ license }) => (license === '' ? unknown : <bdi className="package-name">{license}</bdi>),
  },
  {
    id: 'path',
    title: 'Found in',
    cell: ({ path, layer }) => (
      <>
        {path === '' ? unknown : <code className="long-text">{path}</code>}
        {layer !== '' && (
          <span className="second" title={layer}>
            layer <code>{shortDigest(layer)}</code>
          </span>
        )}
      </>
    ),
  },
]

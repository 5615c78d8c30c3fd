import type { Manifest } from '@berth/client'
import { useQuery } from '@tanstack/react-query'
import { Link, useNavigate, useParams } from '@tanstack/react-router'
import { useState } from 'react'
import { useAddressState } from '../../address-state.ts'
import { useAccess } from '../../api/access.ts'
import { manifestQuery } from '../../api/queries/registry/manifests.ts'
import { repoQuery } from '../../api/queries/registry/repos.ts'
import { Actions } from '../../components/actions.tsx'
import { Breadcrumbs, usePath } from '../../components/breadcrumbs.tsx'
import { Equivalent, Id, quoted } from '../../components/copy.tsx'
import { Digest, shortDigest } from '../../components/digest.tsx'
import { Disclosure } from '../../components/disclosure.tsx'
import { Facts } from '../../components/facts.tsx'
import { lazyPart } from '../../components/lazy-part.tsx'
import { type PageTab, PageTabs } from '../../components/page-tabs.tsx'
import { Bytes, formatNumber } from '../../components/quantity.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { Time } from '../../components/time.tsx'
import { Title } from '../../components/title.tsx'
import type { ImageTabProps } from '../contents/image-tab.ts'
import { NotFound } from '../not-found.tsx'
import { digestCommands, Usage } from '../repo/usage.tsx'
import { Entries } from './entries.tsx'
import { Layers } from './layers.tsx'
import { manifestName } from './manifest-types.ts'
import { TagList } from './tag-list.tsx'
import '../../styles/pages/images.css'

const Configuration = lazyPart(async () => (await import('./configuration.tsx')).Configuration)
const Referrers = lazyPart(async () => (await import('./referrers.tsx')).Referrers)
const VulnerabilitiesTab = lazyPart(
  async () => (await import('../contents/vulnerabilities-tab.tsx')).VulnerabilitiesTab,
)
const PackagesTab = lazyPart(async () => (await import('../contents/packages-tab.tsx')).PackagesTab)
const SignaturesTab = lazyPart(async () => (await import('../contents/signatures-tab.tsx')).SignaturesTab)
const PullPolicyTab = lazyPart(async () => (await import('../contents/pull-policy-tab.tsx')).PullPolicyTab)
const DeleteManifestDialog = lazyPart(
  async () => (await import('./delete-manifest.tsx')).DeleteManifestDialog,
)

const CopyDialog = lazyPart(async () => (await import('../copies/copy-dialog.tsx')).CopyDialog)

/** A manifest, addressed by the uid of its repository and its digest. */
export function ManifestPage() {
  const { _splat: address = '' } = useParams({ strict: false })
  const at = address.lastIndexOf('/')
  if (at < 0) return <NotFound />
  const [repo, digest] = [address.slice(0, at), address.slice(at + 1)]
  return (
    <ResourcePage kind="manifest" query={manifestQuery(repo, digest)}>
      {(manifest) => <ManifestDetails key={address} repo={repo} manifest={manifest} />}
    </ResourcePage>
  )
}

interface ManifestProps {
  /** uid of the repository. */
  readonly repo: string
  readonly manifest: Manifest
}

function ManifestDetails({ repo, manifest }: ManifestProps) {
  const { digest } = manifest
  const access = useAccess()
  const navigate = useNavigate()
  const { data } = useQuery(repoQuery(repo))
  const name = data?.value.name
  const path = usePath(repo, name)
  const [isDeleting, setDeleting] = useState(false)
  const [isCopying, setCopying] = useState(false)
  const [{ tab = '' }] = useAddressState()
  const title = `${manifestName(manifest)} ${shortDigest(digest)}`
  return (
    <>
      <Breadcrumbs uid={repo} name={shortDigest(digest)} repo={{ uid: repo, name: name ?? repo }} />
      <div className="page-head">
        <Title text={title} />
        <Actions
          actions={[
            {
              label: 'Compare',
              isQuiet: true,
              missing: undefined,
              onPress: () =>
                void navigate({ to: '/compare/$', params: { _splat: repo }, search: { from: digest } }),
            },
            {
              label: 'Copy to…',
              isQuiet: true,
              missing: access.missing(repo, 'repo.blobs.get'),
              onPress: () => setCopying(true),
            },
            {
              label: 'Delete',
              isQuiet: true,
              missing:
                access.missing(repo, 'manifest.delete') ??
                (manifest.tagCount > 0 ? access.missing(repo, 'tag.delete') : undefined),
              onPress: () => setDeleting(true),
            },
          ]}
        />
      </div>
      <TagsOf repo={repo} manifest={manifest} />
      <ManifestFacts repo={repo} manifest={manifest} />
      <Disclosure summary="Pull commands">
        <Usage
          uid={repo}
          path={path}
          {...(manifest.kind === 'MANIFEST_KIND_ARTIFACT' && { of: ['berth'] })}
          commands={(tool, image) => digestCommands(tool, image, digest)}
        />
      </Disclosure>
      <PageTabs
        label="Content of the manifest"
        tabs={tabsOf(repo, path, manifest, access.missing(repo, 'manifest.metadata.list'))}
      />
      {!contentTabIds.has(tab) && (
        <Equivalent command={`berth images manifests describe ${quoted(path)} ${digest}`} />
      )}
      {isCopying && (
        <CopyDialog
          repo={repo}
          path={path}
          // With several tags, the user says which one is meant.
          items={[{ reference: digest, tag: manifest.tagCount === 1 ? (manifest.tags[0] ?? '') : '' }]}
          onClose={() => setCopying(false)}
        />
      )}
      {isDeleting && (
        <DeleteManifestDialog repo={repo} path={path} digest={digest} onClose={() => setDeleting(false)} />
      )}
    </>
  )
}

const TAGS_SHOWN = 8

/** What users call it: the names come first. */
function TagsOf({ repo, manifest: { digest, tags, tagCount } }: ManifestProps) {
  if (tagCount === 0) return <p className="muted">No tag points to it.</p>
  return (
    <div>
      <span className="unseen">Tags: </span>
      <TagList
        tags={tags}
        tagCount={tagCount}
        max={TAGS_SHOWN}
        all={
          <Link to="/repos/$" params={{ _splat: repo }} search={{ digest }}>
            {tagCount === 1 ? 'Show the tag' : 'Show the tags'}
          </Link>
        }
      />
    </div>
  )
}

function ManifestFacts({ repo, manifest }: ManifestProps) {
  const { digest, kind, mediaType, artifactType, size, imageSize, pushTime, subject, platforms } = manifest
  const { indexes = [] } = manifest.content ?? {}
  const isImage = kind === 'MANIFEST_KIND_IMAGE'
  return (
    <Facts
      facts={[
        ['Platforms', platforms.length === 0 ? undefined : platforms.join(', ')],
        ['Size', imageSize === undefined ? undefined : <Bytes key="image" value={imageSize} />],
        ['Pushed', <Time key="pushed" value={pushTime} />],
        ['Digest', <Id key="digest" value={digest} label="the digest" />],
        ['Media type', <code key="type">{mediaType}</code>],
        ['Size of the manifest', <Bytes key="size" value={size} />],
        [
          'Artifact type',
          artifactType === '' || isImage ? undefined : <code key="artifact">{artifactType}</code>,
        ],
        [
          'Refers to',
          subject === '' ? undefined : (
            <Digest key="subject" repo={repo} digest={subject} object="the subject" />
          ),
        ],
        [
          'Part of',
          indexes.length === 0 ? undefined : (
            <span key="indexes">
              {indexes.map((index) => (
                <Digest key={index} repo={repo} digest={index} object="the index" />
              ))}
            </span>
          ),
        ],
      ]}
    />
  )
}

/** The platforms of the images of an index, `linux/amd64` first: it is the one that the API chooses without a platform. */
function platformsOf({ kind, content }: Manifest): readonly string[] {
  if (kind !== 'MANIFEST_KIND_INDEX') return []
  const platforms = content?.entries.flatMap((entry) =>
    entry.describes === '' && entry.platform !== '' ? [entry.platform] : [],
  )
  return [...new Set(platforms)].toSorted(
    (a, b) => Number(b === DEFAULT_PLATFORM) - Number(a === DEFAULT_PLATFORM),
  )
}

const DEFAULT_PLATFORM = 'linux/amd64'

/** Tabs that have a command of their own. */
const contentTabIds: ReadonlySet<string> = new Set([
  'vulnerabilities',
  'packages',
  'signatures',
  'pull-policies',
])

/** The tabs about what an image contains; artifacts have none of them. */
function contentTabs({ kind }: Manifest, props: ImageTabProps): readonly PageTab[] {
  if (kind === 'MANIFEST_KIND_ARTIFACT') return []
  return [
    {
      id: 'vulnerabilities',
      title: 'Vulnerabilities',
      content: () => <VulnerabilitiesTab {...props} />,
    },
    { id: 'packages', title: 'Packages', content: () => <PackagesTab {...props} /> },
    { id: 'signatures', title: 'Signatures', content: () => <SignaturesTab {...props} /> },
    { id: 'pull-policies', title: 'Pull policies', content: () => <PullPolicyTab {...props} /> },
  ]
}

function tabsOf(
  repo: string,
  path: string,
  manifest: Manifest,
  missing: string | undefined,
): readonly PageTab[] {
  const { digest, kind, annotations, content } = manifest
  if (content === undefined) return []
  const { entries, layers, configuration, configurationDigest, referrerCount, json } = content
  const annotationCount = Object.keys(annotations).length
  return [
    kind === 'MANIFEST_KIND_INDEX'
      ? { id: 'platforms', title: 'Platforms', content: () => <Entries repo={repo} entries={entries} /> }
      : {
          id: 'layers',
          title: kind === 'MANIFEST_KIND_IMAGE' ? 'Layers' : 'Files',
          content: () => <Layers layers={layers} of={kind === 'MANIFEST_KIND_IMAGE' ? 'layer' : 'file'} />,
        },
    ...contentTabs(manifest, { repo, path, digest, platforms: platformsOf(manifest) }),
    ...(kind === 'MANIFEST_KIND_IMAGE'
      ? [
          {
            id: 'configuration',
            title: 'Configuration',
            content: () => (
              <Configuration configuration={configuration} digest={configurationDigest} missing={missing} />
            ),
          },
        ]
      : []),
    {
      id: 'referrers',
      title: referrerCount === 0 ? 'Referrers' : `Referrers (${formatNumber(referrerCount)})`,
      content: () => <Referrers repo={repo} digest={digest} />,
    },
    ...(annotationCount === 0
      ? []
      : [
          {
            id: 'annotations',
            title: 'Annotations',
            content: () => <Facts facts={Object.entries(annotations)} />,
          },
        ]),
    { id: 'json', title: 'JSON', content: () => <Json text={json} /> },
  ]
}

function Json({ text }: { readonly text: string }) {
  if (text === '')
    return <p className="muted">The manifest is too large for this page. Pull it from the registry.</p>
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards scroll what is too wide
    <pre className="code" tabIndex={0}>
      <code>{formatted(text)}</code>
    </pre>
  )
}

function formatted(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), undefined, 2)
  } catch {
    return text
  }
}

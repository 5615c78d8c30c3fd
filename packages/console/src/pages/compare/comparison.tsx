import type { Manifest } from '@berth/client'
import { useState } from 'react'
import { Digest, shortDigest } from '../../components/digest.tsx'
import { CheckboxField } from '../../components/field.tsx'
import { LongText } from '../../components/long-text.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { Bytes, formatBytes } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'
import { splitVariable } from '../manifests/image-values.ts'
import { TagList } from '../manifests/tag-list.tsx'
import { ChangeBadge } from './change-badge.tsx'
import { ContentsDifference } from './contents-difference.tsx'
import {
  type ComparedValue,
  compareLayers,
  compareValues,
  configurationValues,
  platformValues,
  type Values,
} from './difference.ts'
import '../../styles/pages/images.css'

const TAGS_SHOWN = 5

interface ComparisonProps {
  /** uid of the repository. */
  readonly repo: string
  readonly before: Manifest
  readonly after: Manifest
}

/** What distinguishes two images. */
export function Comparison({ repo, before, after }: ComparisonProps) {
  const [isComplete, setComplete] = useState(false)
  const [old, now] = [before.content?.configuration, after.content?.configuration]
  const isIndex = before.kind === 'MANIFEST_KIND_INDEX' || after.kind === 'MANIFEST_KIND_INDEX'
  const values = (title: string, one: Values, other: Values) => (
    <ValueSection title={title} values={compareValues(one, other)} isComplete={isComplete} />
  )
  if (before.digest === after.digest) return <p>Both are the same image.</p>
  return (
    <>
      <CheckboxField isSelected={isComplete} onChange={setComplete}>
        Show what is the same
      </CheckboxField>
      <section>
        <h2>Images</h2>
        <PlainTable
          label="Images"
          items={[before, after]}
          keyOf={({ digest }) => digest}
          columns={[
            {
              id: 'digest',
              title: 'Digest',
              cell: ({ digest }, at) => (
                <Digest
                  repo={repo}
                  digest={digest}
                  object={at === 0 ? 'the first image' : 'the second image'}
                />
              ),
            },
            {
              id: 'tags',
              title: 'Tags',
              cell: ({ tags, tagCount }) => <TagList tags={tags} tagCount={tagCount} max={TAGS_SHOWN} />,
            },
            { id: 'size', title: 'Size', cell: ({ imageSize }) => <Bytes value={imageSize} /> },
            { id: 'pushed', title: 'Pushed', cell: ({ pushTime }) => <Time value={pushTime} /> },
          ]}
        />
      </section>
      {isIndex && values('Platforms', platformValues(before), platformValues(after))}
      {!isIndex && (
        <>
          <LayerSection before={before} after={after} isComplete={isComplete} />
          {values('Configuration', configurationValues(old), configurationValues(now))}
          {values('Environment', (old?.env ?? []).map(splitVariable), (now?.env ?? []).map(splitVariable))}
          {values('Labels', Object.entries(old?.labels ?? {}), Object.entries(now?.labels ?? {}))}
        </>
      )}
      {!isIndex && <ContentsDifference repo={repo} from={before.digest} to={after.digest} />}
      {values('Annotations', Object.entries(before.annotations), Object.entries(after.annotations))}
    </>
  )
}

interface ValueSectionProps {
  readonly title: string
  readonly values: readonly ComparedValue[]
  /** Shows equal values too. */
  readonly isComplete: boolean
}

function ValueSection({ title, values, isComplete }: ValueSectionProps) {
  const shown = isComplete ? values : values.filter(({ change }) => change !== 'same')
  return (
    <section>
      <h2>{title}</h2>
      {shown.length === 0 ? (
        <p className="muted">{values.length === 0 ? 'Neither has any.' : 'No difference.'}</p>
      ) : (
        <PlainTable
          label={title}
          items={shown}
          keyOf={({ name }) => name}
          columns={[
            { id: 'name', title: 'Name', cell: ({ name }) => <LongText text={name} /> },
            { id: 'change', title: 'Change', cell: ({ change }) => <ChangeBadge change={change} /> },
            { id: 'before', title: 'First', cell: ({ before }) => <Value text={before} /> },
            { id: 'after', title: 'Second', cell: ({ after }) => <Value text={after} /> },
          ]}
        />
      )}
    </section>
  )
}

function Value({ text }: { readonly text: string | undefined }) {
  return text === undefined ? <span className="muted">not set</span> : <LongText text={text} />
}

function LayerSection({
  before,
  after,
  isComplete,
}: Pick<ComparisonProps, 'before' | 'after'> & { readonly isComplete: boolean }) {
  const { layers, ...bytes } = compareLayers(before.content?.layers ?? [], after.content?.layers ?? [])
  const shown = isComplete ? layers : layers.filter(({ change }) => change !== 'same')
  return (
    <section>
      <h2>Layers</h2>
      <p className="muted">
        {formatBytes(bytes.sharedBytes)} shared, {formatBytes(bytes.addedBytes)} added,{' '}
        {formatBytes(bytes.removedBytes)} removed
      </p>
      {shown.length > 0 && (
        <PlainTable
          label="Layers"
          items={shown}
          keyOf={({ layer }, at) => `${at} ${layer.digest}`}
          columns={[
            {
              id: 'step',
              title: 'Layer',
              cell: ({ layer: { createdBy, title, digest } }) =>
                createdBy || title ? (
                  <LongText text={createdBy || title} />
                ) : (
                  <code title={digest}>{shortDigest(digest)}</code>
                ),
            },
            {
              id: 'change',
              title: 'Change',
              cell: ({ change }) => <ChangeBadge change={change} />,
            },
            { id: 'size', title: 'Size', cell: ({ layer }) => <Bytes value={layer.size} /> },
          ]}
        />
      )}
    </section>
  )
}

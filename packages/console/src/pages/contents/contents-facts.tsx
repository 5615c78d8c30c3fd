import type { ContentsProblem, ContentsSource, ImageContents } from '@berth/client'
import { useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { contentsQuery, type ImageReference, isPending } from '../../api/queries/contents/packages.ts'
import { messageOf } from '../../api/query-client.ts'
import { useRequest } from '../../api/use-request.ts'
import { ActionButton } from '../../components/action-button.tsx'
import { Digest } from '../../components/digest.tsx'
import { Facts } from '../../components/facts.tsx'
import { formatNumber, plural } from '../../components/quantity.tsx'
import { formatDay, Time } from '../../components/time.tsx'

/** Whether an image was read, and a summary of what it contains. */

const sources: Readonly<Record<ContentsSource, string>> = {
  CONTENTS_SOURCE_UNSPECIFIED: 'unknown',
  CONTENTS_SOURCE_ATTACHED_SBOM: 'an attached SBOM',
  CONTENTS_SOURCE_SBOM_FILES: 'SBOMs in the layers, and package databases',
  CONTENTS_SOURCE_LAYERS: 'package databases in the layers',
}

interface ContentsFactsProps {
  readonly image: ImageReference
  readonly contents: ImageContents
  /** Capability that the user lacks to read the image again. */
  readonly missing: string | undefined
}

export function ContentsFacts({ image, contents, missing }: ContentsFactsProps) {
  const { digest, source, sbomFormat, distribution, packageCount, typeCounts, problems, readTime } = contents
  const format = sbomFormat === '' ? '' : ` (${sbomFormat})`
  return (
    <>
      <ContentsNotice contents={contents} />
      {readTime !== undefined && (
        <Facts
          facts={[
            [
              'Packages',
              <span key="packages">
                {formatNumber(packageCount)}
                {typeCounts.length > 0 && (
                  <span className="second">
                    {typeCounts.map(({ type, count }) => `${formatNumber(count)} ${type}`).join(', ')}
                  </span>
                )}
              </span>,
            ],
            [
              'Distribution',
              distribution === undefined ? (
                <span key="distribution" className="muted">
                  none
                </span>
              ) : (
                <span key="distribution">
                  <bdi>{distribution.name || `${distribution.id} ${distribution.version}`}</bdi>
                  <EndOfLife time={distribution.endOfLifeTime} />
                </span>
              ),
            ],
            ['Read from', `${sources[source]}${format}`],
            ['Read', <Time key="read" value={readTime} isRelative />],
            [
              'Image',
              digest === image.reference ? undefined : (
                <Digest key="image" repo={image.uid} digest={digest} object={image.platform} />
              ),
            ],
          ]}
        />
      )}
      <Problems problems={problems} />
      <ReadAgain image={image} contents={contents} missing={missing} />
    </>
  )
}

function EndOfLife({ time }: { readonly time: string | undefined }) {
  if (time === undefined) return null
  const isOver = Date.parse(time) <= Date.now()
  return (
    <span className="second">
      {isOver ? 'no fixes since' : 'fixes until'} {formatDay(time)}
    </span>
  )
}

/** What users must know before they use what was read. */
function ContentsNotice({
  contents,
}: {
  readonly contents: Pick<ImageContents, 'state' | 'reason' | 'readTime'>
}) {
  const { state, reason, readTime } = contents
  if (state === 'CONTENTS_STATE_PENDING')
    return (
      <p className="caution" role="status">
        The image is waiting to be read, mostly for about a second. This page shows the packages when they are
        known.{readTime !== undefined && ' Until then, it shows what an earlier reading found.'}
      </p>
    )
  if (state === 'CONTENTS_STATE_FAILED')
    return (
      <p className="alert" role="alert">
        The image could not be read, because <bdi>{reason}</bdi>. Its packages and vulnerabilities are
        unknown.
      </p>
    )
  if (state === 'CONTENTS_STATE_NOT_AN_IMAGE')
    return <p className="muted">This manifest is not an image, so it has no packages.</p>
  return null
}

const PROBLEMS_OPEN = 3

function Problems({ problems }: { readonly problems: readonly ContentsProblem[] }) {
  if (problems.length === 0) return null
  return (
    <details className="disclosure" open={problems.length <= PROBLEMS_OPEN}>
      <summary>{plural(problems.length, 'part')} of the image could not be read</summary>
      <p className="hint">The packages below are those of the rest.</p>
      <ul className="problem-list">
        {problems.map(({ path, reason }, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: the list does not change, and problems can be equal
          <li key={at}>
            {path === '' ? 'The image' : <code className="long-text">{path}</code>} could not be read, because{' '}
            <bdi>{reason}</bdi>
          </li>
        ))}
      </ul>
    </details>
  )
}

function ReadAgain({ image, contents, missing }: ContentsFactsProps) {
  const queries = useQueryClient()
  const { send, isRunning, error } = useRequest({
    action: 'read-image-again',
    title: 'Read the image again',
    // The page may show another platform by now.
    send: async (sent: ImageReference) =>
      queries.setQueryData(contentsQuery(sent).queryKey, await api.imageContents.readImageAgain(sent)),
  })
  if (contents.state === 'CONTENTS_STATE_NOT_AN_IMAGE') return null
  const busy = isRunning(image) || isPending(contents) ? 'The image is waiting to be read' : undefined
  return (
    <div className="section-actions">
      {error !== null && (
        <p className="alert" role="alert">
          {messageOf(error)}
        </p>
      )}
      <ActionButton
        label="Read the image again"
        isQuiet
        missing={missing ?? busy}
        onPress={() => send(image)}
      />
    </div>
  )
}

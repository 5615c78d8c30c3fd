import type { ImageConfiguration } from '@berth/client'
import { Id } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { LongText } from '../../components/long-text.tsx'
import { PlainTable } from '../../components/plain-table.tsx'
import { Time } from '../../components/time.tsx'
import { splitVariable } from './image-values.ts'

/** How a container of the image starts, and how the image was built. */
export function Configuration({
  configuration,
  digest,
  missing,
}: {
  readonly configuration: ImageConfiguration | undefined
  readonly digest: string
  /** Why the user cannot read it. */
  readonly missing: string | undefined
}) {
  if (configuration === undefined && missing !== undefined) return <p className="muted">{missing}</p>
  if (configuration === undefined)
    return <p className="muted">The configuration of this image cannot be read.</p>
  const { os, architecture, createTime, author, user, workingDir, stopSignal } = configuration
  const { entrypoint, cmd, exposedPorts, volumes, env, labels, history, truncated } = configuration
  return (
    <>
      {truncated && (
        <p className="alert" role="status">
          The configuration is too large for this page: parts of it are missing.
        </p>
      )}
      <Facts
        facts={[
          ['Entrypoint', words(entrypoint)],
          ['Command', words(cmd)],
          [
            'User',
            user || (
              <span key="user" className="muted">
                root
              </span>
            ),
          ],
          ['Working directory', code(workingDir)],
          ['Ports', exposedPorts.join(', ') || undefined],
          ['Volumes', volumes.length === 0 ? undefined : words(volumes)],
          ['Stop signal', code(stopSignal)],
          ['Platform', [os, architecture].filter(Boolean).join('/') || undefined],
          ['Built', createTime === undefined ? undefined : <Time key="built" value={createTime} />],
          ['Author', author || undefined],
          ['Digest', <Id key="digest" value={digest} label="the digest of the configuration" />],
        ]}
      />
      <section>
        <h2>Environment</h2>
        <Pairs label="Environment" pairs={env.map(splitVariable)} />
      </section>
      <section>
        <h2>Labels</h2>
        <Pairs label="Labels" pairs={Object.entries(labels)} />
      </section>
      <section>
        <h2>History</h2>
        {history.length === 0 ? (
          <p className="muted">The image has no history.</p>
        ) : (
          <PlainTable
            label="History"
            items={history}
            keyOf={(_, at) => String(at)}
            columns={[
              {
                id: 'step',
                title: 'Step',
                cell: ({ createdBy }) => <LongText text={createdBy} />,
              },
              {
                id: 'layer',
                title: 'Layer',
                cell: ({ layer }) => (layer === undefined ? <span className="muted">none</span> : layer + 1),
              },
              { id: 'comment', title: 'Comment', cell: ({ comment }) => comment },
              {
                id: 'time',
                title: 'Time',
                cell: ({ createTime: time }) => <Time value={time} absent="unknown" />,
              },
            ]}
          />
        )}
      </section>
    </>
  )
}

const code = (text: string) => (text === '' ? undefined : <code>{text}</code>)

/** An argument list as JSON, so that spaces in arguments are not ambiguous. */
const words = (list: readonly string[]) =>
  list.length === 0 ? <span className="muted">none</span> : <LongText text={JSON.stringify(list)} />

function Pairs({
  label,
  pairs,
}: {
  readonly label: string
  readonly pairs: readonly (readonly [string, string])[]
}) {
  if (pairs.length === 0) return <p className="muted">There are none.</p>
  return (
    <PlainTable
      label={label}
      items={pairs}
      keyOf={([name], at) => `${at} ${name}`}
      columns={[
        { id: 'name', title: 'Name', cell: ([name]) => <code>{name}</code> },
        { id: 'value', title: 'Value', cell: ([, value]) => <LongText text={value} /> },
      ]}
    />
  )
}

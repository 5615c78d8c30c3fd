import type { AdvisoryFeed, AdvisoryFeedRun, ImportCounts } from '@berth/client'
import { useQuery, useQueryClient } from '@tanstack/react-query'
import { Link, useParams } from '@tanstack/react-router'
import { useEffect, useRef, useState } from 'react'
import { useAccess } from '../../api/access.ts'
import { feedQuery, isSyncing } from '../../api/queries/advisories.ts'
import { parentOf } from '../../api/queries/groups.ts'
import type { Versioned } from '../../api/queries/pages.ts'
import { ancestorNamesQuery } from '../../api/queries/paths.ts'
import { feedRunsQuery, type NamedRun } from '../../api/queries/runs.ts'
import { messageOf } from '../../api/query-client.ts'
import { Actions } from '../../components/actions.tsx'
import { Breadcrumbs } from '../../components/breadcrumbs.tsx'
import { Command, Equivalent, Id } from '../../components/copy.tsx'
import { Facts } from '../../components/facts.tsx'
import { PageList } from '../../components/page-list.tsx'
import { Progress } from '../../components/progress.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import { ResourcePage } from '../../components/resource-page.tsx'
import { NoRuns, RunFilterBar, runColumns, runOptions, useRunFilter } from '../../components/runs.tsx'
import { Time } from '../../components/time.tsx'
import { Title } from '../../components/title.tsx'
import { formatNames } from '../advisories/document-columns.tsx'
import { DeleteFeedDialog, EditFeedDialog } from './feed-dialogs.tsx'
import { useFeedSync } from './feed-sync.ts'
import { countsText, DEFAULT_INTERVAL, FeedState, intervalText, NextRun } from './feed-texts.tsx'
import '../../styles/pages/advisories.css'

/** A feed: its settings, its health, and what its last run did. */
export function AdvisoryFeedPage() {
  const { _splat: uid = '' } = useParams({ strict: false })
  return (
    <ResourcePage kind="feed" query={feedQuery(uid)}>
      {(feed) => <Feed key={uid} feed={feed} />}
    </ResourcePage>
  )
}

function Feed({ feed }: { readonly feed: Versioned<AdvisoryFeed> }) {
  const { value } = feed
  const { uid, url, paused, lastError, lastRun } = value
  const access = useAccess()
  const missing = access.missing(uid, 'advisories.update')
  const { data: ancestors = [] } = useQuery(ancestorNamesQuery(uid))
  const folder = ancestors.at(-1)?.name ?? 'Feeds of the folder'
  const cannotSync = missing ?? (paused ? 'The feed is paused' : undefined)
  const [dialog, setDialog] = useState<'edit' | 'delete' | undefined>()
  const sync = useSync(value)
  const close = () => setDialog(undefined)
  return (
    <>
      <Breadcrumbs uid={uid} name={url} />
      <div className="page-head">
        <div className="title-row">
          <Title text={url} />
          <FeedState feed={value} />
        </div>
        <Actions
          actions={[
            { label: 'Sync now', missing: cannotSync, onPress: () => sync.send({ uid, full: false }) },
            {
              label: 'Read everything again',
              isQuiet: true,
              missing: cannotSync,
              onPress: () => sync.send({ uid, full: true }),
            },
            { label: 'Edit', isQuiet: true, missing, onPress: () => setDialog('edit') },
            {
              label: 'Delete',
              isQuiet: true,
              missing: access.missing(uid, 'advisories.delete'),
              onPress: () => setDialog('delete'),
            },
          ]}
        />
      </div>
      <p>
        <Id value={uid} label="the uid of the feed" />
      </p>
      {sync.error !== null && (
        <p className="alert" role="alert">
          {messageOf(sync.error)}
        </p>
      )}
      {isSyncing(value) && <Progress label="Reading the feed" done={lastRun?.documents} unit="documents" />}
      {lastError !== '' && (
        <section className="alert" role="alert">
          <p>
            The last run failed: <bdi>{lastError}</bdi>
          </p>
          <p>
            {value.failures > 1 && `${formatNumber(value.failures)} runs in a row have failed. `}
            {value.nextAttemptTime !== undefined && (
              <>
                The server tries again <Time value={value.nextAttemptTime} isRelative />.
              </>
            )}
          </p>
        </section>
      )}
      <Facts
        facts={[
          [
            'Folder',
            <Link
              key="folder"
              to="/folders/$"
              params={{ _splat: parentOf(uid) }}
              search={{ tab: 'advisories', section: 'feeds' }}
            >
              {folder}
            </Link>,
          ],
          ['Format', value.format === '' ? 'Detected for each document' : formatNames[value.format]],
          ['Interval', intervalText(value.interval ?? DEFAULT_INTERVAL)],
          ['Last success', <Time key="success" value={value.lastSuccessTime} isRelative />],
          ['Last attempt', <Time key="attempt" value={value.lastAttemptTime} isRelative />],
          ['Next run', <NextRun key="next" feed={value} />],
          [
            'Version of the file',
            value.sourceEtag === '' ? undefined : <bdi key="etag">{value.sourceEtag}</bdi>,
          ],
          ['Created', <Time key="created" value={value.createTime} />],
          ['Settings updated', <Time key="updated" value={value.updateTime} />],
        ]}
      />
      <section>
        <h2>Last run with changes</h2>
        {lastRun === undefined ? (
          <p className="muted">No run has found documents yet.</p>
        ) : (
          <LastRun counts={lastRun} />
        )}
      </section>
      <FeedRuns feed={uid} />
      <Equivalent
        command={`berth advisories feeds ${missing === undefined ? `sync ${uid} --wait` : `describe ${uid}`}`}
      />
      {dialog === 'edit' && <EditFeedDialog feed={feed} onClose={close} />}
      {dialog === 'delete' && <DeleteFeedDialog feed={value} onClose={close} />}
    </>
  )
}

function FeedRuns({ feed }: { readonly feed: string }) {
  const filter = useRunFilter()
  return (
    <section>
      <h2>Runs</h2>
      <RunFilterBar />
      <PageList
        label="Runs"
        query={feedRunsQuery(feed, filter)}
        keyOf={({ uid }) => uid}
        columns={runColumns<NamedRun<AdvisoryFeedRun>>(({ counts }) =>
          counts === undefined ? '' : countsText(counts),
        )}
        missing={useAccess().missing(feed, 'advisories.list')}
        empty={<NoRuns filter={filter} text="No run is recorded yet." />}
      />
      <p className="muted">Scheduled runs that find the file unchanged are not recorded.</p>
      <Command
        text={`berth advisories feeds runs ${feed}${runOptions(filter)}`}
        label="the command that lists the runs"
      />
    </section>
  )
}

/** Starts runs. A run that ended has changed advisories. */
function useSync(feed: AdvisoryFeed) {
  const queries = useQueryClient()
  const isRunning = isSyncing(feed)
  const wasRunning = useRef(isRunning)
  useEffect(() => {
    if (wasRunning.current && !isRunning)
      for (const key of [
        'advisories',
        'advisory-documents',
        'advisory-summary',
        'advisory-feeds',
        'advisory-feed-runs',
      ])
        void queries.invalidateQueries({ queryKey: [key] })
    wasRunning.current = isRunning
  }, [isRunning, queries])
  return useFeedSync()
}

function LastRun({ counts }: { readonly counts: ImportCounts }) {
  const { documents, skipped, rejected, rejections } = counts
  return (
    <>
      <Facts
        facts={[
          ['Documents', formatNumber(documents)],
          ['Advisories', countsText(counts)],
          ['Scores of vulnerabilities', counts.scored === 0 ? undefined : formatNumber(counts.scored)],
          ['Older than stored', counts.older === 0 ? undefined : formatNumber(counts.older)],
          ['Files without advisories', skipped === 0 ? undefined : formatNumber(skipped)],
          ['Rejected', formatNumber(rejected)],
        ]}
      />
      {rejections.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a region that scrolls must be reachable with the keyboard
        <section className="scroll note" aria-label="Rejected documents" tabIndex={0}>
          <table className="plain-table">
            <thead>
              <tr>
                <th scope="col">Document</th>
                <th scope="col">Reason</th>
              </tr>
            </thead>
            <tbody>
              {rejections.map(({ name, line, reason }) => (
                <tr key={`${name} ${line}`}>
                  <th scope="row" className="document-id">
                    <bdi>{name}</bdi>
                  </th>
                  <td className="result">
                    {line > 0 && `Line ${line}: `}
                    <bdi>{reason}</bdi>
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </section>
      )}
      {rejected > rejections.length && (
        <p className="muted">The first {formatNumber(rejections.length)} rejected documents are listed.</p>
      )}
    </>
  )
}

import { Link } from '@tanstack/react-router'
import { useState } from 'react'
import { useAccess } from '../../../api/access.ts'
import { feedsQuery } from '../../../api/queries/advisories.ts'
import { messageOf } from '../../../api/query-client.ts'
import { ActionButton } from '../../../components/action-button.tsx'
import { usePath } from '../../../components/breadcrumbs.tsx'
import { Equivalent, quoted } from '../../../components/copy.tsx'
import { PageList } from '../../../components/page-list.tsx'
import { formatNumber } from '../../../components/quantity.tsx'
import { RowAction } from '../../../components/row-action.tsx'
import { Time } from '../../../components/time.tsx'
import { AddFeedDialog } from '../../advisory-feeds/feed-dialogs.tsx'
import { useFeedSync } from '../../advisory-feeds/feed-sync.ts'
import { DEFAULT_INTERVAL, FeedState, intervalText, NextRun } from '../../advisory-feeds/feed-texts.tsx'
import type { FolderTabProps } from '../folder.tsx'

/** The feeds of a folder and of all folders in it. */
export function Feeds({ uid, name }: FolderTabProps) {
  const [isAdding, setAdding] = useState(false)
  const path = usePath(uid, name)
  const access = useAccess()
  const sync = useFeedSync()
  return (
    <>
      <div className="tab-actions">
        <ActionButton
          label="Add a feed"
          missing={access.missing(uid, 'advisories.create') ?? access.missing(uid, 'advisories.update')}
          onPress={() => setAdding(true)}
        />
      </div>
      {sync.error !== null && (
        <p className="alert" role="alert">
          {messageOf(sync.error)}
        </p>
      )}
      <PageList
        label="Feeds"
        query={feedsQuery(uid)}
        keyOf={(feed) => feed.uid}
        columns={[
          {
            id: 'url',
            title: 'URL',
            cell: (feed) => (
              <>
                <Link to="/advisory-feeds/$" params={{ _splat: feed.uid }} className="document-id">
                  {feed.url}
                </Link>
                <span className="second">{intervalText(feed.interval ?? DEFAULT_INTERVAL)}</span>
              </>
            ),
          },
          {
            id: 'state',
            title: 'State',
            cell: (feed) => (
              <>
                <FeedState feed={feed} />
                {feed.lastError !== '' && <bdi className="second document-id">{feed.lastError}</bdi>}
              </>
            ),
          },
          {
            id: 'success',
            title: 'Last success',
            cell: (feed) => <Time value={feed.lastSuccessTime} isRelative />,
          },
          {
            id: 'next',
            title: 'Next run',
            cell: (feed) => <NextRun feed={feed} />,
          },
          {
            id: 'documents',
            title: 'Documents',
            cell: (feed) => formatNumber(feed.lastRun?.documents ?? 0),
          },
          {
            id: 'actions',
            title: 'Actions',
            cell: (feed) =>
              feed.paused ? null : (
                <RowAction
                  label="Sync now"
                  object={feed.url}
                  missing={access.missing(feed.uid, 'advisories.update')}
                  onPress={() => sync.send({ uid: feed.uid, full: false })}
                />
              ),
          },
        ]}
        empty={
          <p>
            There are no feeds here. A feed is a URL that the server reads at an interval: an OSV export, for
            example, or the security database of a distribution.
          </p>
        }
      />
      <Equivalent command={`berth advisories feeds list --parent ${quoted(path)} --recursive`} />
      {isAdding && <AddFeedDialog folder={uid} onClose={() => setAdding(false)} />}
    </>
  )
}

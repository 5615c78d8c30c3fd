import { useQueryClient } from '@tanstack/react-query'
import { api } from '../../api/client.ts'
import { useRequest } from '../../api/use-request.ts'
import { invalidateFeed } from './feed-dialogs.tsx'

interface FeedSync {
  readonly uid: string
  /** Reads the file also if it is unchanged. */
  readonly full: boolean
}

/** Starts runs of feeds. */
export function useFeedSync() {
  const queries = useQueryClient()
  return useRequest({
    action: 'sync-feed',
    title: 'Sync the feed',
    send: async (input: FeedSync) => {
      await api.advisoryFeeds.syncAdvisoryFeed(input)
      await invalidateFeed(queries, input.uid)
    },
  })
}

import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import { Button } from 'react-aria-components'
import { resourcesQuery } from '../api/queries/resources.ts'
import { focusContent } from '../components/focus-return.ts'
import { lazyPart } from '../components/lazy-part.tsx'
import { formatNumber } from '../components/quantity.tsx'
import { type CopyRun, forgetCopy, useCopyRuns } from '../pages/copies/copy-runs.ts'
import { copiedText, countText } from '../pages/copies/copy-texts.ts'

const CopyDialog = lazyPart(async () => (await import('../pages/copies/copy-dialog.tsx')).CopyDialog, null)

/** The copies whose dialogs were closed: how far they are, and what became of them. */
export function Copies() {
  const [opened, setOpened] = useState<CopyRun | undefined>()
  const runs = useCopyRuns().filter(({ id, isShown }) => !isShown || id === opened?.id)
  return (
    <>
      {runs.map((run) => (
        <CopyNotice key={run.id} run={run} onShow={() => setOpened(run)} />
      ))}
      {opened !== undefined && (
        <CopyDialog
          repo={opened.request.source}
          path={opened.request.path}
          items={opened.request.items}
          run={opened}
          onClose={() => setOpened(undefined)}
        />
      )}
    </>
  )
}

function CopyNotice({ run, onShow }: { readonly run: CopyRun; readonly onShow: () => void }) {
  const { id, request, done, outcome } = run
  const { data } = useQuery(resourcesQuery([request.repo]))
  const target = data?.get(request.repo)?.path ?? 'another repository'
  const { length: count } = request.items
  const isComplete = outcome === undefined || outcome.copied.length === count
  return (
    <section
      className={outcome === undefined ? 'notice neutral' : isComplete ? 'notice' : 'caution'}
      aria-label={`Copy in the background to ${target}`}
    >
      <span role="status">
        {outcome === undefined ? `Copying ${countText(count)} to ` : `${copiedText(outcome)} to `}
        <bdi>{target}</bdi>.
      </span>{' '}
      {outcome === undefined && (
        <span>
          {formatNumber(done)} of {formatNumber(count)} done.{' '}
        </span>
      )}
      <Button className="link" onPress={onShow}>
        {outcome === undefined ? 'Show the progress' : 'Show the result'}
      </Button>{' '}
      {outcome !== undefined && (
        <Button
          className="link"
          onPress={() => {
            forgetCopy(id)
            // This button is gone with it.
            focusContent()
          }}
        >
          Dismiss
        </Button>
      )}
    </section>
  )
}

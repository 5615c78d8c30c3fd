import type { BackgroundJob } from '@berth/client'
import { useAddressState } from '../../address-state.ts'
import { jobsQuery, mailsQuery } from '../../api/queries/operator.ts'
import { Badge } from '../../components/badge.tsx'
import { Equivalent } from '../../components/copy.tsx'
import { FilterBar, SelectFilter } from '../../components/filter-bar.tsx'
import { PageList } from '../../components/page-list.tsx'
import { formatNumber } from '../../components/quantity.tsx'
import { Time } from '../../components/time.tsx'

/** Background work, and the queue of emails. */

export function Jobs() {
  const [{ state = '' }] = useAddressState()
  return (
    <>
      <PageList
        label="Jobs"
        query={jobsQuery}
        keyOf={({ name }) => name}
        columns={[
          { id: 'name', title: 'Job', cell: ({ name }) => name },
          { id: 'running', title: 'Running', cell: (job) => <Running job={job} /> },
          { id: 'waiting', title: 'Waiting', cell: ({ waitingCount }) => formatNumber(waitingCount) },
          { id: 'last', title: 'Last run', cell: (job) => <LastRun job={job} /> },
          {
            id: 'next',
            title: 'Next run',
            cell: ({ nextRunTime }) => <Time value={nextRunTime} absent="not scheduled" isRelative />,
          },
          { id: 'error', title: 'Last error', cell: (job) => <LastError job={job} /> },
        ]}
        empty={<p>There are no jobs.</p>}
      />
      <section>
        <h2>Email</h2>
        <FilterBar>
          <SelectFilter
            label="State"
            name="state"
            choices={['queued', 'sent', 'failed'].map((id) => ({ id, name: id }))}
          />
        </FilterBar>
        <PageList
          label="Email"
          query={mailsQuery(state)}
          keyOf={({ uid }) => uid}
          columns={[
            { id: 'kind', title: 'Kind', cell: ({ kind }) => kind },
            {
              id: 'state',
              title: 'State',
              cell: (mail) => <Badge tone={mail.state === 'failed' ? 'bad' : 'plain'}>{mail.state}</Badge>,
            },
            { id: 'attempts', title: 'Attempts', cell: ({ attempts }) => attempts },
            {
              id: 'updated',
              title: 'Updated',
              cell: ({ updateTime }) => <Time value={updateTime} isRelative />,
            },
            { id: 'problem', title: 'Problem', cell: ({ problem }) => problem },
          ]}
          empty={<p>There is no email{state === '' ? '' : ' in this state'}. Recipients are never shown.</p>}
        />
      </section>
      <Equivalent command={`berth admin mail list${state === '' ? '' : ` --state ${state}`}`} />
    </>
  )
}

function Running({ job: { running } }: { readonly job: BackgroundJob }) {
  if (running.length === 0) return <span className="muted">no</span>
  const nodes = [...new Set(running.map(({ nodeName }) => nodeName || 'unknown'))]
  return (
    <Badge tone="good" title={running.map(({ key }) => key).join('\n')}>
      {running.length} on {nodes.join(', ')}
    </Badge>
  )
}

function LastRun({ job: { lastResult } }: { readonly job: BackgroundJob }) {
  if (lastResult === undefined) return <span className="muted">none yet</span>
  return (
    <>
      <Badge tone={lastResult.succeeded ? 'good' : 'bad'}>
        {lastResult.succeeded ? 'succeeded' : 'failed'}
      </Badge>{' '}
      <Time value={lastResult.endTime} isRelative />
      <span className="second">{lastResult.nodeName}</span>
    </>
  )
}

function LastError({ job: { lastError, lastErrorTime } }: { readonly job: BackgroundJob }) {
  if (lastError === '') return null
  return (
    <>
      {lastError}
      <span className="second">
        <Time value={lastErrorTime} isRelative />
      </span>
    </>
  )
}

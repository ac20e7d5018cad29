/** The queue of all workspaces: how much waits, where and why, and its entries. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { type Loading, useLoad } from '../../api/use-load.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { capitalize, formatNumber } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { Tabs } from '../../components/tabs.tsx'
import { Facts, Note, Time } from '../../components/values.tsx'
import { HoldRules } from './hold-rules.tsx'
import type { QueueCensus, QueueWork } from './operator-types.ts'
import { QueueEntries } from './queue-entries.tsx'
import { QueuePaces } from './queue-paces.tsx'
import { QueueProviders } from './queue-providers.tsx'
import { QueueWorkNote } from './queue-work.tsx'

/** Milliseconds until the numbers are loaded again: while they are counted, and after that. */
const WHILE_COUNTING = 1_000
const AFTERWARDS = 15_000

export function QueuePage(): VNode {
  const census = useLoad(() => unwrap(sessionApi.GET('/ui/api/operator/queue')), [], {
    every: ({ complete }) => (complete ? AFTERWARDS : WHILE_COUNTING),
  })
  const work = useLoad(() => unwrap(sessionApi.GET('/ui/api/operator/queue/work')), [], {
    every: ({ work }) => (work?.state === 'running' ? WHILE_COUNTING : null),
  })
  const refresh = (): void => {
    census.reload()
    work.reload()
  }
  return (
    <Page
      title="Queue"
      intro="Mail of all workspaces that waits for its delivery. An entry is one recipient of one email."
    >
      <QueueWorkNote work={work.data?.work ?? null} onChanged={refresh} />
      <Loaded from={census}>
        {(data) => (
          <>
            <Counting census={data} />
            <Facts facts={listFacts(data)} />
          </>
        )}
      </Loaded>
      <QueueTabs census={census} work={work.data?.work ?? null} onChanged={refresh} />
    </Page>
  )
}

interface QueueTabsProps {
  readonly census: Loading<QueueCensus>
  readonly work: QueueWork | null
  readonly onChanged: () => void
}

function QueueTabs({ census, work, onChanged }: QueueTabsProps): VNode {
  const showDomains = (): VNode => <Loaded from={census}>{(data) => <Domains census={data} />}</Loaded>
  const showProviders = (): VNode => (
    <Loaded from={census}>
      {({ providers }) =>
        providers.length === 0 ? <EmptyQueue /> : <QueueProviders {...{ providers, work, onChanged }} />
      }
    </Loaded>
  )
  const showEntries = (): VNode => (
    <QueueEntries providers={census.data?.providers ?? []} work={work} onChanged={onChanged} />
  )
  const showReasons = (): VNode => <Loaded from={census}>{(data) => <Reasons census={data} />}</Loaded>
  return (
    <Tabs
      label="Parts of the queue"
      tabs={[
        { id: 'domains', title: 'By domain', show: showDomains },
        { id: 'providers', title: 'By provider', show: showProviders },
        { id: 'reasons', title: 'By reason', show: showReasons },
        { id: 'entries', title: 'Entries', show: showEntries },
        { id: 'paces', title: 'Pace', show: () => <QueuePaces /> },
        { id: 'rules', title: 'Hold rules', show: () => <HoldRules onChanged={onChanged} /> },
      ]}
    />
  )
}

function Counting({ census: { complete, total } }: { readonly census: QueueCensus }): VNode | null {
  if (complete) return null
  return (
    <Note tone="info">
      <p>The queue is long and still being counted: {formatNumber(total)} entries so far.</p>
    </Note>
  )
}

function listFacts(census: QueueCensus): Parameters<typeof Facts>[0]['facts'] {
  return [
    { name: 'Entries', value: formatNumber(census.total) },
    { name: 'Never tried', value: formatNumber(census.queued) },
    { name: 'Waiting for a retry', value: formatNumber(census.deferred) },
    { name: 'Scheduled', value: formatNumber(census.scheduled) },
    { name: 'Being sent', value: formatNumber(census.sending) },
    { name: 'Held', value: formatNumber(census.held) },
    { name: 'Oldest', value: <Time at={census.oldest_at} kind="relative" /> },
    { name: 'Counted', value: <Time at={census.counted_at} kind="relative" /> },
  ]
}

function Domains({ census: { domains, other_domains: others } }: { readonly census: QueueCensus }): VNode {
  if (domains.length === 0) return <EmptyQueue />
  return (
    <>
      <Table
        caption="Queue by recipient domain"
        columns={domainColumns}
        rows={domains}
        rowKey={({ domain }) => domain}
      />
      <Others count={others} what="domains" />
    </>
  )
}

function Reasons({ census: { reasons, other_reasons: others } }: { readonly census: QueueCensus }): VNode {
  if (reasons.length === 0) return <EmptyQueue />
  return (
    <>
      <Table caption="Queue by reason" columns={reasonColumns} rows={reasons} rowKey={({ reason }) => reason} />
      <Others count={others} what="reasons" />
    </>
  )
}

function EmptyQueue(): VNode {
  return (
    <Empty title="The queue is empty">
      <p>All mail is delivered or settled otherwise.</p>
    </Empty>
  )
}

function Others({ count, what }: { readonly count: number; readonly what: string }): VNode | null {
  return count === 0 ? null : (
    <p class="soft">
      {formatNumber(count)} more entries of other {what}.
    </p>
  )
}

const domainColumns: readonly Column<QueueCensus['domains'][number]>[] = [
  {
    title: 'Domain',
    show: ({ domain }) => (
      <Link href={`/operator/queue?tab=entries&domain=${encodeURIComponent(domain)}`}>{allowBreaks(domain)}</Link>
    ),
  },
  { title: 'Entries', kind: 'number', show: ({ total }) => formatNumber(total) },
  { title: 'Never tried', kind: 'number', show: ({ queued }) => formatNumber(queued) },
  { title: 'Waiting for a retry', kind: 'number', show: ({ deferred }) => formatNumber(deferred) },
  { title: 'Scheduled', kind: 'number', show: ({ scheduled }) => formatNumber(scheduled) },
  { title: 'Held', kind: 'number', show: ({ held }) => formatNumber(held) },
  { title: 'Oldest', show: ({ oldest_at: at }) => <Time at={at} kind="relative" /> },
]

const reasonColumns: readonly Column<QueueCensus['reasons'][number]>[] = [
  { title: 'Reason', show: ({ reason }) => capitalize(reason) },
  { title: 'Entries', kind: 'number', show: ({ total }) => formatNumber(total) },
  { title: 'Example of an answer', show: ({ sample }) => sample ?? '–' },
]

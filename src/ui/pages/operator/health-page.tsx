/** The page of the health of the service: what needs attention first, then the numbers. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { formatBytes, formatNumber, formatPercent } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Table } from '../../components/table.tsx'
import { Facts, StatusBadge, Time } from '../../components/values.tsx'
import { AttentionSection } from './attention-section.tsx'
import type { Health } from './operator-types.ts'

/** Milliseconds. */
const REFRESH = 10_000

export function HealthPage(): VNode {
  const health = useLoad(() => unwrap(sessionApi.GET('/ui/api/operator/health')), [], { every: () => REFRESH })
  return (
    <Page title="Health" intro="The state of the service, updated every ten seconds.">
      <AttentionSection />
      <Loaded from={health}>
        {(data) => (
          <>
            <NodesSection health={data} />
            <ServiceSection health={data} />
            <WorkSection health={data} />
            <StorageSection health={data} />
            <Section title="Listeners">
              <Table
                caption="Where the service listens"
                columns={[
                  { title: 'Address', show: ({ address }) => <code>{address}</code> },
                  { title: 'For', show: ({ name }) => name },
                ]}
                rows={data.listeners}
                rowKey={({ name, address }) => `${name} ${address}`}
              />
            </Section>
          </>
        )}
      </Loaded>
    </Page>
  )
}

const toneOfState = { working: 'good', draining: 'info', drained: 'neutral', silent: 'bad', stopped: 'warn' } as const

/** One node is no news: the rest of the page is about it. */
function NodesSection({ health: { nodes, answered_by: own } }: { readonly health: Health }): VNode | null {
  if (nodes.length < 2) return null
  return (
    <Section title="Nodes" intro={`This page is about the node ${own}.`}>
      <Table
        caption="Nodes"
        columns={[
          { title: 'Node', show: ({ name }) => name },
          { title: 'State', show: ({ state }) => <StatusBadge status={state} tone={toneOfState[state]} /> },
          { title: 'Version', show: ({ version }) => version },
          { title: 'Last beat', show: ({ last_beat: at }) => <Time at={at} kind="relative" /> },
          { title: 'Entries', kind: 'number', show: ({ entries }) => formatNumber(entries) },
          { title: 'Leads', show: ({ leads }) => (leads ? 'Yes' : 'No') },
          { title: 'Adopted by', show: ({ adopted_by: by }) => by ?? '–' },
        ]}
        rows={nodes}
        rowKey={({ name }) => name}
      />
    </Section>
  )
}

function ServiceSection({ health }: { readonly health: Health }): VNode {
  const { version, node, started_at: started, process, certificate } = health
  const facts = [
    { name: 'Version', value: `${version}, Node.js ${node}` },
    { name: 'Started', value: <Time at={started} kind="relative" /> },
    { name: 'Certificate expires', value: <Time at={certificate.expires_at} kind="relative" /> },
    { name: 'Issued by', value: certificate.self_signed ? 'Itself (self-signed)' : 'A certificate authority' },
    { name: 'Memory', value: `${formatBytes(process.rss)}, heap ${formatBytes(process.heap_used)}` },
    { name: 'Threads', value: process.threads === null ? '–' : formatNumber(process.threads) },
    { name: 'Main thread busy', value: formatPercent(process.load) },
    {
      name: 'Delay of the event loop',
      value: `Median ${process.delay_p50} ms, 99% below ${process.delay_p99} ms, longest ${process.delay_max} ms`,
    },
  ]
  return (
    <Section title="Service" intro="Load and delays are those of the last full minute.">
      <Facts facts={facts} />
    </Section>
  )
}

function WorkSection({ health: { queue, webhooks } }: { readonly health: Health }): VNode {
  const facts = [
    {
      name: 'Queue',
      value: (
        <Link href="/operator/queue">
          {queue.complete ? '' : 'More than '}
          {formatNumber(queue.total)} entries, {formatNumber(queue.held)} held
        </Link>
      ),
    },
    { name: 'Oldest entry', value: <Time at={queue.oldest_at} kind="relative" otherwise="None" /> },
    {
      name: 'Webhooks',
      value: (
        <>
          {formatNumber(webhooks.enabled)} enabled{' '}
          {webhooks.failing === 0 ? null : (
            <StatusBadge status="failing" tone="bad">
              {formatNumber(webhooks.failing)} failing
            </StatusBadge>
          )}
        </>
      ),
    },
    { name: 'Events behind', value: `${formatNumber(webhooks.behind)} at the slowest webhook` },
  ]
  return (
    <Section title="Queue and webhooks">
      <Facts facts={facts} />
    </Section>
  )
}

function StorageSection({ health: { storage } }: { readonly health: Health }): VNode {
  const facts = [
    { name: 'Database', value: formatBytes(storage.database) },
    { name: 'Free inside the database', value: formatBytes(storage.free_in_database) },
    { name: 'Write-ahead log', value: formatBytes(storage.wal) },
    { name: 'Spool of large messages', value: formatBytes(storage.spool) },
    { name: 'Disk', value: `${formatBytes(storage.disk_free)} free of ${formatBytes(storage.disk_total)}` },
    { name: 'Commits since the start', value: formatNumber(storage.commits) },
  ]
  return (
    <Section title="Storage">
      <Facts facts={facts} />
    </Section>
  )
}

/** Shows what slows down the mail of a domain: its bounces and complaints, its warm-up, and providers that limit the server. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, sessionApi, unwrap } from '../../api/client.ts'
import type { components } from '../../api/session-schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { formatNumber } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import { BreakerTable } from './breaker-table.tsx'
import type { Domain } from './domain.ts'

type Pace = components['schemas']['DomainPace']
type WarmUp = Pace['warm_up'][number]
type Provider = Pace['providers'][number]

export function DomainPace({ domain: { id, domain } }: { readonly domain: Domain }): VNode {
  const pace = useLoad(() => unwrap(sessionApi.GET('/ui/api/domains/{id}/pace', { params: { path: { id } } })), [id])
  const breakers = useLoad(() => unwrap(api.GET('/v1/breakers')))
  return (
    <>
      <Section
        title="Bounces and complaints"
        intro="If too much mail bounces or is reported as spam, Posthorn holds the mail of the domain before providers block it."
      >
        <Loaded from={breakers}>
          {({ data }) => {
            const own = data.filter(({ scope, id: name }) => scope === 'workspace' || name === domain)
            return <BreakerTable breakers={own} onReleased={breakers.reload} />
          }}
        </Loaded>
        <p class="section-note">
          <Link href="/domains/breakers">Bounces and complaints of all domains and broadcasts</Link>
        </p>
      </Section>
      <Loaded from={pace}>
        {(data) => (
          <>
            <WarmUpSection pace={data} domain={domain} />
            <ProviderSection providers={data.providers} />
          </>
        )}
      </Loaded>
    </>
  )
}

function WarmUpSection({ pace, domain }: { readonly pace: Pace; readonly domain: string }): VNode {
  const [first = 0] = pace.plan
  return (
    <Section
      title="Warm-up"
      intro="Providers distrust a domain that suddenly sends much. A new domain begins with few messages a day to each provider, and may send more after each good day."
    >
      {pace.warm_up.length === 0 ? (
        <Empty title="No limit of a warm-up applies">
          <p>
            {pace.warms_up
              ? `If ${domain} was verified less than 45 days ago, its first day allows ${formatNumber(first)} messages to each provider.`
              : 'This server does not warm up new domains.'}
          </p>
        </Empty>
      ) : (
        <Table
          caption={`Warm-up of ${domain}`}
          columns={buildWarmUpColumns(pace.plan.length)}
          rows={pace.warm_up}
          rowKey={({ name }) => name}
        />
      )}
    </Section>
  )
}

function buildWarmUpColumns(length: number): readonly Column<WarmUp>[] {
  return [
    { title: 'Provider', show: ({ name }) => name },
    { title: 'Day', show: ({ day }) => (day === null ? 'Ended' : `${formatNumber(day)} of ${formatNumber(length)}`) },
    { title: 'Sent today', kind: 'number', show: ({ sent }) => formatNumber(sent) },
    { title: 'Allowed today', kind: 'number', show: ({ cap }) => (cap === null ? 'No limit' : formatNumber(cap)) },
    { title: 'Tomorrow', kind: 'number', show: ({ next_cap: cap }) => (cap === null ? 'No limit' : formatNumber(cap)) },
    { title: 'Why', show: (row) => explainWarmUp(row) },
  ]
}

function explainWarmUp({ cap, sent, deferred, next_cap: next }: WarmUp): string {
  if (cap === null) return 'The plan has ended.'
  if (sent >= cap) return 'The limit of today is reached. More mail waits until midnight (UTC).'
  if (next !== null && next < cap) return `${formatNumber(deferred)} messages were deferred: a step back.`
  if (next === cap) return 'Too little was sent today for the next step.'
  return 'Today is a good day so far.'
}

function ProviderSection({ providers }: { readonly providers: readonly Provider[] }): VNode {
  return (
    <Section
      title="Providers that limit this server"
      intro="This concerns the mail of all domains. The page of a waiting email quotes what the provider said."
    >
      {providers.length === 0 ? (
        <Empty title="No provider limits this server now" />
      ) : (
        <Table
          caption="Providers that limit this server"
          columns={providerColumns}
          rows={providers}
          rowKey={(row) => JSON.stringify(row)}
        />
      )}
    </Section>
  )
}

const stateWords = { open: 'No limit', limited: 'Slower', paused: 'Paused', probing: 'Trying again' } as const

const providerColumns: readonly Column<Provider>[] = [
  { title: 'Provider', show: ({ name }) => name },
  { title: 'State', show: ({ state }) => <StatusBadge status={state}>{stateWords[state]}</StatusBadge> },
  { title: 'Why', show: ({ refusal }) => explainRefusal(refusal) },
  {
    title: 'Messages a second',
    kind: 'number',
    show: ({ rate }) => (rate === null ? 'No limit' : formatNumber(rate)),
  },
  { title: 'Until', show: ({ until }) => <Time at={until} /> },
]

function explainRefusal(refusal: Provider['refusal']): string {
  if (refusal === 'block') return 'It blocks the address of this server.'
  return refusal === 'rate' ? 'It asked us to slow down.' : 'It asked us to slow down before.'
}

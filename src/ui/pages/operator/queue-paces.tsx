/** The paces at which providers take mail of this server, with their reasons. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { formatNumber } from '../../components/format.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import type { ProviderPace } from './operator-types.ts'

/** Milliseconds until the list is loaded again. */
const REFRESH = 15_000

export function QueuePaces(): VNode {
  const paces = useLoad(() => unwrap(sessionApi.GET('/ui/api/operator/shaping')), [], { every: () => REFRESH })
  return (
    <Loaded from={paces}>
      {({ data }) =>
        data.length === 0 ? (
          <Empty title="No provider has slowed down this server">
            <p>
              If a provider refuses mail because it is too fast, Posthorn keeps within its limits and lists it here.
            </p>
          </Empty>
        ) : (
          <Table
            caption="Paces of providers"
            columns={columns}
            rows={data}
            rowKey={({ provider, source_address: source }) => `${provider} ${source}`}
          />
        )
      }
    </Loaded>
  )
}

const stateWords = { open: 'No limit', limited: 'Slower', paused: 'Paused', probing: 'Trying again' } as const

const columns: readonly Column<ProviderPace>[] = [
  { title: 'Provider', show: (pace) => <Provider pace={pace} /> },
  { title: 'State', show: ({ state }) => <StatusBadge status={state}>{stateWords[state]}</StatusBadge> },
  { title: 'Limits', show: (pace) => describeLimits(pace) },
  { title: 'Why', show: ({ reason }) => reason ?? '–' },
  { title: 'Until', show: ({ until }) => <Time at={until} /> },
]

function Provider({ pace: { name, source_address: source } }: { readonly pace: ProviderPace }): VNode {
  return (
    <>
      {name}
      {source === null ? null : <span class="row-note">from {source}</span>}
    </>
  )
}

function describeLimits({ sessions, messages_per_session: messages, rate }: ProviderPace): string {
  const limits = [
    { limit: sessions, what: 'connections' },
    { limit: messages, what: 'messages a connection' },
    { limit: rate, what: 'messages a second' },
  ].flatMap(({ limit, what }) => (limit === null ? [] : [`${formatNumber(limit)} ${what}`]))
  return limits.length === 0 ? 'None' : limits.join(', ')
}

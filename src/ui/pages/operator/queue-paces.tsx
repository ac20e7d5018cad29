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
  { title: 'Provider', show: ({ name }) => name },
  { title: 'Our address', show: ({ source_address: source }) => source ?? 'The usual one' },
  { title: 'State', show: ({ state }) => <StatusBadge status={state}>{stateWords[state]}</StatusBadge> },
  { title: 'Connections', kind: 'number', show: ({ sessions }) => showLimit(sessions) },
  { title: 'Messages a connection', kind: 'number', show: ({ messages_per_session: count }) => showLimit(count) },
  { title: 'Messages a second', kind: 'number', show: ({ rate }) => showLimit(rate) },
  { title: 'Why', show: ({ reason }) => reason ?? '–' },
  { title: 'Until', show: ({ until }) => <Time at={until} /> },
]

function showLimit(limit: number | null): string {
  return limit === null ? 'No limit' : formatNumber(limit)
}

/** The queue by mailbox provider: how much waits and why, and acts on all entries of one provider. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { Button } from '../../components/button.tsx'
import { formatNumber } from '../../components/format.ts'
import { type Column, Table } from '../../components/table.tsx'
import { Time, toWords } from '../../components/values.tsx'
import type { QueueAct, QueueProvider, QueueWork } from './operator-types.ts'
import { MatchingActDialog } from './queue-work.tsx'

/** Reasons that one row shows. */
const MAX_SHOWN = 3

interface QueueProvidersProps {
  readonly providers: readonly QueueProvider[]
  readonly work: QueueWork | null
  readonly onChanged: () => void
}

interface Choice {
  readonly act: QueueAct
  readonly provider: string
}

export function QueueProviders({ providers, work, onChanged }: QueueProvidersProps): VNode {
  const [chosen, setChosen] = useState<Choice | null>(null)
  const isBusy = work?.state === 'running'
  return (
    <>
      <Table
        caption="Queue by mailbox provider"
        columns={[...columns, buildActions(isBusy, setChosen)]}
        rows={providers}
        rowKey={({ provider }) => provider}
      />
      {chosen === null ? null : (
        <MatchingActDialog
          act={chosen.act}
          filters={{ provider: chosen.provider }}
          onStarted={onChanged}
          onClose={() => setChosen(null)}
        />
      )}
    </>
  )
}

function linkTo(provider: string, reason?: string): string {
  const query = new URLSearchParams({ tab: 'entries', provider, ...(reason === undefined ? {} : { reason }) })
  return `/operator/queue?${query}`
}

function Reasons({ row: { provider, reasons, other_reasons: others } }: { readonly row: QueueProvider }): VNode {
  const shown = reasons.slice(0, MAX_SHOWN)
  const hidden = reasons.slice(MAX_SHOWN).reduce((sum, { total }) => sum + total, others)
  const reply = reasons[0]?.last_reply ?? null
  return (
    <span class="wide-value">
      {shown.map(({ reason, description, total }) => (
        <span key={reason} class="one-reason" title={description}>
          <Link href={linkTo(provider, reason)}>{toWords(reason)}</Link>: {formatNumber(total)}
        </span>
      ))}
      {hidden === 0 ? null : <span class="row-note">{formatNumber(hidden)} of other reasons</span>}
      {reply === null ? null : <span class="row-note">{reply}</span>}
    </span>
  )
}

const columns: readonly Column<QueueProvider>[] = [
  {
    title: 'Provider',
    show: ({ provider, name, oldest_at: at }) => (
      <span class="short-value">
        <Link href={linkTo(provider)}>{name}</Link>
        <span class="row-note">
          oldest <Time at={at} kind="relative" />
        </span>
      </span>
    ),
  },
  { title: 'Entries', kind: 'number', show: ({ total }) => formatNumber(total) },
  { title: 'Due now', kind: 'number', show: ({ due }) => formatNumber(due) },
  { title: 'Waiting', kind: 'number', show: ({ waiting }) => formatNumber(waiting) },
  { title: 'Held', kind: 'number', show: ({ held }) => formatNumber(held) },
  { title: 'Reasons', show: (row) => <Reasons row={row} /> },
]

const actNames = { retry: 'Try now', hold: 'Hold', release: 'Release' } as const

/** Offers only acts that would change an entry. */
function listActs({ due, waiting, releasable }: QueueProvider): readonly (keyof typeof actNames)[] {
  const canSend = due + waiting > 0
  return [
    ...(canSend || releasable > 0 ? (['retry'] as const) : []),
    ...(canSend ? (['hold'] as const) : []),
    ...(releasable > 0 ? (['release'] as const) : []),
  ]
}

function buildActions(isBusy: boolean, onChoose: (choice: Choice) => void): Column<QueueProvider> {
  return {
    title: 'Actions',
    kind: 'actions',
    show: (row) => (
      <span class="act-stack">
        {listActs(row).map((act) => (
          <Button
            key={act}
            small
            disabled={isBusy}
            label={`${actNames[act]}: ${row.name}`}
            onClick={() => onChoose({ act, provider: row.provider })}
          >
            {actNames[act]}
          </Button>
        ))}
      </span>
    ),
  }
}

/** Bounces and complaints of the workspace, its domains and broadcasts, with the release of what is held. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { capitalize, formatNumber, formatPercent } from '../../components/format.ts'
import { notify } from '../../components/notices.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'

type Breaker = components['schemas']['Breaker']

interface BreakerTableProps {
  readonly breakers: readonly Breaker[]
  readonly onReleased: () => void
}

export function BreakerTable({ breakers, onReleased }: BreakerTableProps): VNode {
  const [releasing, setReleasing] = useState<Breaker | null>(null)
  return (
    <>
      <Table
        caption="Bounces and complaints"
        columns={buildColumns(setReleasing)}
        rows={breakers}
        rowKey={({ scope, id }) => `${scope} ${id}`}
      />
      {releasing === null ? null : (
        <ReleaseDialog breaker={releasing} onReleased={onReleased} onClose={() => setReleasing(null)} />
      )}
    </>
  )
}

const stateWords = { ok: 'In order', warning: 'Warning', held: 'Held' } as const
const tones = { ok: 'good', warning: 'warn', held: 'bad' } as const

function buildColumns(onRelease: (breaker: Breaker) => void): readonly Column<Breaker>[] {
  return [
    { title: 'Mail of', show: (breaker) => capitalizeScope(breaker) },
    {
      title: 'State',
      show: ({ state }) => (
        <StatusBadge status={state} tone={tones[state]}>
          {stateWords[state]}
        </StatusBadge>
      ),
    },
    {
      title: 'Why',
      show: ({ reason, since }) => (reason === null ? '–' : <Reason reason={reason} since={since} />),
    },
    { title: 'Bounced in a day', kind: 'number', show: ({ figures }) => showShare(figures.bounced, figures.settled) },
    {
      title: 'Complaints in 7 days',
      kind: 'number',
      show: ({ figures }) => showShare(figures.complained, figures.delivered),
    },
    {
      title: 'Actions',
      kind: 'actions',
      show: (breaker) =>
        mayAdminister.value && breaker.state === 'held' ? (
          <Button small label={`Release the mail of ${nameScope(breaker)}`} onClick={() => onRelease(breaker)}>
            Release
          </Button>
        ) : null,
    },
  ]
}

/** A domain keeps its small letters. */
function capitalizeScope(breaker: Breaker): string {
  return breaker.scope === 'domain' ? breaker.id : capitalize(nameScope(breaker))
}

function nameScope({ scope, id }: Breaker): string {
  if (scope === 'workspace') return 'the whole workspace'
  return scope === 'domain' ? id : `the broadcast ${id}`
}

function Reason({ reason, since }: Pick<Breaker, 'reason' | 'since'>): VNode {
  return (
    <>
      {reason}
      <span class="row-note">
        Since <Time at={since} />
      </span>
    </>
  )
}

function showShare(part: number, all: number): string {
  return all === 0 ? formatNumber(part) : `${formatNumber(part)} (${formatPercent(part / all)})`
}

interface ReleaseDialogProps {
  readonly breaker: Breaker
  readonly onReleased: () => void
  readonly onClose: () => void
}

function ReleaseDialog({ breaker, onReleased, onClose }: ReleaseDialogProps): VNode {
  const name = nameScope(breaker)
  const release = async (): Promise<void> => {
    await unwrap(api.POST('/v1/breakers/{id}/release', { params: { path: { id: breaker.id } } }))
    notify(`The mail of ${name} is sent again.`)
    onReleased()
  }
  return (
    <ConfirmDialog title={`Release the mail of ${name}?`} action="Release" onConfirm={release} onClose={onClose}>
      <p>{breaker.reason}</p>
      <p>
        First remove the addresses that cause this, such as an old or bought list. What is held is sent at once, and
        what was counted so far counts no more. Only a few releases a day are allowed.
      </p>
    </ConfirmDialog>
  )
}

/** All workspaces of the service. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { ButtonLink } from '../../components/button.tsx'
import { formatBytes, formatNumber } from '../../components/format.ts'
import { Page } from '../../components/page.tsx'
import type { Column } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import type { OperatedWorkspace } from './operator-types.ts'
import { WorkspaceTable } from './workspace-table.tsx'

export function WorkspaceListPage(): VNode {
  const create = (
    <ButtonLink href="/operator/workspaces/new" tone="primary">
      Create a workspace
    </ButtonLink>
  )
  return (
    <Page title="All workspaces" intro="Every workspace of this service, by name." actions={create}>
      <WorkspaceTable caption="All workspaces" columns={columns} />
    </Page>
  )
}

const columns: readonly Column<OperatedWorkspace>[] = [
  { title: 'Name and owner', show: (row) => <WorkspaceName workspace={row} /> },
  { title: 'Plan', show: (row) => <PlanName workspace={row} /> },
  { title: 'Members', kind: 'number', show: ({ members }) => formatNumber(members) },
  {
    title: 'Emails, 30 days',
    kind: 'number',
    show: ({ emails_sent: sent, emails_limit: limit }) => <Used used={sent} limit={limit} format={formatNumber} />,
  },
  {
    title: 'Inbound mail',
    kind: 'number',
    show: ({ inbound_bytes: held, inbound_limit: limit }) => <Used used={held} limit={limit} format={formatBytes} />,
  },
  { title: 'Created', show: ({ created_at: at }) => <Time at={at} kind="day" /> },
]

function WorkspaceName({
  workspace: { id, name, owner, is_operator: isOperator },
}: {
  readonly workspace: OperatedWorkspace
}): VNode {
  return (
    <>
      <Link href={`/operator/workspaces/${id}`}>{name}</Link>
      <span class="row-note">{allowBreaks(owner.email)}</span>
      {isOperator ? (
        <span class="row-note">
          <StatusBadge status="operator" tone="info" />
        </span>
      ) : null}
    </>
  )
}

function PlanName({ workspace: { plan, plan_known: known } }: { readonly workspace: OperatedWorkspace }): VNode {
  return (
    <>
      {plan}
      {known ? null : <span class="row-note row-note-bad">not configured: the default plan applies</span>}
    </>
  )
}

interface UsedProps {
  readonly used: number
  /** Null means that there is no limit. */
  readonly limit: number | null
  readonly format: (value: number) => string
}

function Used({ used, limit, format }: UsedProps): VNode {
  const isFull = limit !== null && used >= limit
  return (
    <>
      {format(used)}
      {limit === null ? null : <span class={isFull ? 'row-note row-note-bad' : 'row-note'}>of {format(limit)}</span>}
    </>
  )
}

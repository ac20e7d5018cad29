/** The audit log of the workspace: who changed what and when. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { type ListPage, PAGE_SIZE, toCursorPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Empty } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Time } from '../../components/values.tsx'
import { type Act, describeAct, describeActor, type Names } from './describe-act.ts'

interface NamedAct {
  readonly act: Act
  readonly names: Names
}

export function AuditLogPage(): VNode {
  return (
    <Page title="Audit log" intro="Who changed what in this workspace, newest first.">
      {mayAdminister.value ? (
        <AuditList />
      ) : (
        <Empty title="Only the owner and admins see the audit log">
          <p>Ask one of them to make you an admin.</p>
        </Empty>
      )}
    </Page>
  )
}

function AuditList(): VNode {
  const pages = usePages(loadActs)
  return (
    <PagedTable
      caption="Administrative actions"
      pages={pages}
      columns={columns}
      rowKey={({ act }) => act.id}
      empty={
        <Empty title="No action yet">
          <p>This page will list changes of domains, keys, webhooks, members and settings.</p>
        </Empty>
      }
    />
  )
}

const columns: readonly Column<NamedAct>[] = [
  { title: 'Who', show: ({ act, names }) => <Who act={act} names={names} /> },
  { title: 'Action', show: ({ act, names }) => <What act={act} names={names} /> },
  { title: 'When', show: ({ act: { at } }) => <Time at={at} /> },
]

function Who({ act, names }: NamedAct): VNode {
  const key = act.details['by_key']
  return (
    <span class="wide-value">
      {allowBreaks(describeActor(act, names))}
      {typeof key === 'string' ? <span class="row-note">with the key “{names[key] ?? key}”</span> : null}
    </span>
  )
}

/** The exact details are for people who need them. */
function What({ act, names }: NamedAct): VNode {
  const { action, target, details } = act
  return (
    <details class="act">
      <summary>{allowBreaks(describeAct(act, names))}</summary>
      <pre>{JSON.stringify({ action, target, details }, null, 2)}</pre>
    </details>
  )
}

async function loadActs(cursor: string | undefined): Promise<ListPage<NamedAct>> {
  const query = { limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) }
  const page = await unwrap(sessionApi.GET('/ui/api/audit-log', { params: { query } }))
  const { rows, next } = toCursorPage(page)
  return { rows: rows.map((act) => ({ act, names: page.names })), next }
}

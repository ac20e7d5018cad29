/** Addresses to which the service itself does not write, for example with invitations and notices. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sessionApi, unwrap } from '../../api/client.ts'
import { type ListPage, toCursorPage, usePages } from '../../api/use-pages.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Empty } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { Time, toWords } from '../../components/values.tsx'
import type { ServiceSuppression } from './operator-types.ts'

export function ServiceSuppressionsPage(): VNode {
  const pages = usePages(loadSuppressions)
  const [removing, setRemoving] = useState<ServiceSuppression | null>(null)
  const remove = async ({ id, email }: ServiceSuppression): Promise<void> => {
    await unwrap(sessionApi.DELETE('/ui/api/operator/suppressions/{id}', { params: { path: { id } } }))
    notify(`The service may write to ${email} again.`)
    pages.reload()
  }
  return (
    <Page
      title="Service suppressions"
      intro="Addresses that get no mail of the service itself: invitations, links to set a password, notices. Each workspace has its own list."
    >
      <PagedTable
        caption="Addresses that the service does not write to"
        pages={pages}
        columns={buildColumns(setRemoving)}
        rowKey={({ id }) => id}
        empty={
          <Empty title="No address is suppressed">
            <p>
              An address gets on this list when mail of the service to it bounces permanently or is reported as spam.
            </p>
          </Empty>
        }
      />
      {removing === null ? null : (
        <ConfirmDialog
          title={`Write to ${removing.email} again?`}
          name={removing.email}
          action="Remove from the list"
          onConfirm={() => remove(removing)}
          onClose={() => setRemoving(null)}
        >
          <p>Mail to an address that bounces or complains harms the reputation of the service.</p>
        </ConfirmDialog>
      )}
    </Page>
  )
}

function buildColumns(onRemove: (row: ServiceSuppression) => void): readonly Column<ServiceSuppression>[] {
  return [
    { title: 'Address', show: ({ email }) => email },
    { title: 'Reason', show: ({ reason }) => toWords(reason) },
    { title: 'Since', show: ({ created_at: at }) => <Time at={at} /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (row) => (
        <Button small onClick={() => onRemove(row)} label={`Remove ${row.email}`}>
          Remove
        </Button>
      ),
    },
  ]
}

async function loadSuppressions(cursor: string | undefined): Promise<ListPage<ServiceSuppression>> {
  const query = cursor === undefined ? {} : { cursor }
  return toCursorPage(await unwrap(sessionApi.GET('/ui/api/operator/suppressions', { params: { query } })))
}

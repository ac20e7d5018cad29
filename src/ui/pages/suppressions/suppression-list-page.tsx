/** The addresses that the workspace does not send to. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { api, sessionApi, unwrap } from '../../api/client.ts'
import { type ListPage, PAGE_SIZE, toCursorPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button, ButtonLink } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { SelectField, TextField } from '../../components/fields.tsx'
import { FilterErrors } from '../../components/filter-errors.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { Empty } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, PagedTable, type Sorting } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import { describeReason, findReason, reasonOptions, type Suppression } from './suppression.ts'

const names = ['email', 'reason']
const filterOptions = [{ value: '', label: 'Any' }, ...reasonOptions]

export function SuppressionListPage(): VNode {
  const filters = useFilters([...names, 'sort'])
  const isSearch = filters.get('email') !== ''
  const pages = usePages((position) => loadSuppressions(filters.get, position), [filters.key])
  const [removing, setRemoving] = useState<Suppression | null>(null)
  return (
    <Page
      title="Suppressions"
      intro="Mail to these addresses is refused. Hard bounces, complaints and unsubscribed recipients are added automatically."
      actions={<Actions />}
    >
      <Filters names={names} filters={filters}>
        <FilterErrors error={pages.error}>
          <TextField name="email" label="Address begins with" type="search" optional value={filters.get('email')} />
          <SelectField name="reason" label="Reason" options={filterOptions} value={filters.get('reason')} />
        </FilterErrors>
      </Filters>
      <PagedTable
        caption="Suppressed addresses"
        pages={pages}
        columns={buildColumns(setRemoving)}
        // A search is always in the order of the addresses.
        sorting={isSearch ? undefined : sortingOf(filters)}
        rowKey={({ id }) => id}
        empty={<NoSuppression isFiltered={isSearch || filters.get('reason') !== ''} />}
      />
      {removing === null ? null : (
        <RemoveDialog suppression={removing} onRemoved={pages.reload} onClose={() => setRemoving(null)} />
      )}
    </Page>
  )
}

function sortingOf({ get, set }: ReturnType<typeof useFilters>): Sorting {
  return {
    by: get('sort') === 'address' ? 'Address' : 'Added',
    onSort: (title) => set({ sort: title === 'Address' ? 'address' : '' }),
  }
}

function Actions(): VNode {
  return (
    <>
      <ButtonLink href="/suppressions/new" tone="primary">
        Suppress an address
      </ButtonLink>
      <ButtonLink href="/suppressions/import">Import a list</ButtonLink>
    </>
  )
}

function NoSuppression({ isFiltered }: { readonly isFiltered: boolean }): VNode {
  return isFiltered ? (
    <Empty title="No suppressed address matches the filters">
      <p>Mail to such an address is not refused.</p>
    </Empty>
  ) : (
    <Empty title="No address is suppressed">
      <p>Addresses that bounce or complain appear here. Import the list of your former provider before you send.</p>
    </Empty>
  )
}

function buildColumns(onRemove: (suppression: Suppression) => void): readonly Column<Suppression>[] {
  return [
    { title: 'Address', sortable: true, show: (suppression) => <Address suppression={suppression} /> },
    {
      title: 'Reason',
      show: ({ reason }) => (
        <StatusBadge status={reason} tone={reason === 'manual' || reason === 'unsubscribe' ? 'neutral' : 'bad'}>
          {describeReason(reason)}
        </StatusBadge>
      ),
    },
    {
      title: 'Cause',
      show: ({ source_email_id: id }) => (id === null ? '–' : <Link href={`/emails/${id}`}>Open the email</Link>),
    },
    { title: 'Added', sortable: true, show: ({ created_at: at }) => <Time at={at} /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (suppression) => (
        <Button small label={`Remove ${suppression.email}`} onClick={() => onRemove(suppression)}>
          Remove
        </Button>
      ),
    },
  ]
}

/** Shows the address, and the reply of the recipient's server if a bounce has one. */
function Address({ suppression: { email, metadata } }: { readonly suppression: Suppression }): VNode {
  const { diagnostic_code: reply } = metadata
  return (
    <>
      {allowBreaks(email)}
      {typeof reply === 'string' ? <span class="row-note">{reply}</span> : null}
    </>
  )
}

interface RemoveDialogProps {
  readonly suppression: Suppression
  readonly onRemoved: () => void
  readonly onClose: () => void
}

function RemoveDialog({ suppression: { id, email }, onRemoved, onClose }: RemoveDialogProps): VNode {
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/suppressions/{id}', { params: { path: { id } } }))
    notify(`${email} is no longer suppressed.`)
    onRemoved()
  }
  return (
    <ConfirmDialog
      title={`Remove ${email}?`}
      name={email}
      action="Remove the address"
      onConfirm={remove}
      onClose={onClose}
    >
      <p>Mail is sent to this address again. Addresses that bounced or complained harm your reputation.</p>
    </ConfirmDialog>
  )
}

/** Newest first, or in the order of the addresses, which a search always has. */
async function loadSuppressions(
  get: (name: string) => string,
  position: string | undefined,
): Promise<ListPage<Suppression>> {
  const [email, reason] = [get('email'), findReason(get('reason'))]
  const query = {
    limit: PAGE_SIZE,
    ...(reason === undefined ? {} : { reason }),
    ...(position === undefined ? {} : { cursor: position }),
  }
  if (email === '' && get('sort') !== 'address')
    return toCursorPage(await unwrap(api.GET('/v1/suppressions', { params: { query } })))
  const params = { query: { ...query, ...(email === '' ? {} : { email }) } }
  return toCursorPage(await unwrap(sessionApi.GET('/ui/api/suppressions', { params })))
}

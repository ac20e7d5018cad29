/** Contacts of one audience or of all, with a search, and acts on the selected ones. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { PAGE_SIZE, type Pages, toCursorPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { TextField } from '../../components/fields.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { Empty } from '../../components/loaded.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import type { Contact } from './audience.ts'
import { BulkActs } from './bulk-acts.tsx'
import './audiences.css'

interface ContactListProps {
  /** Null means all contacts of the workspace. */
  readonly audienceId: string | null
  readonly onChanged?: () => void
}

const filterNames = ['search']

export function ContactList({ audienceId, onChanged }: ContactListProps): VNode {
  const filters = useFilters(filterNames)
  const search = filters.get('search')
  const load = async (cursor: string | undefined) => {
    const query = {
      limit: PAGE_SIZE,
      ...(cursor === undefined ? {} : { cursor }),
      ...(audienceId === null ? {} : { audience_id: audienceId }),
      ...(search === '' ? {} : { search }),
    }
    return toCursorPage(await unwrap(sessionApi.GET('/ui/api/contacts', { params: { query } })))
  }
  const pages = usePages(load, [audienceId, filters.key])
  return (
    <>
      <Filters names={filterNames} filters={filters}>
        <TextField name="search" label="Address begins with" type="search" value={search} optional />
      </Filters>
      <SelectableContacts pages={pages} isFiltered={filters.isFiltered} onChanged={onChanged} />
    </>
  )
}

interface SelectableProps {
  readonly pages: Pages<Contact>
  readonly isFiltered: boolean
  readonly onChanged: (() => void) | undefined
}

function SelectableContacts({ pages, isFiltered, onChanged }: SelectableProps): VNode {
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set())
  const rows = pages.data?.rows ?? []
  // Only contacts that the page shows are selected, so nothing happens to one that the user does not see.
  const ids = rows.map(({ id }) => id).filter((id) => selected.has(id))
  const toggle = (id: string, isSelected: boolean): void => {
    setSelected(new Set(isSelected ? [...selected, id] : [...selected].filter((one) => one !== id)))
  }
  const finish = (): void => {
    setSelected(new Set())
    pages.reload()
    onChanged?.()
  }
  return (
    <>
      {rows.length === 0 ? null : (
        <BulkActs
          ids={ids}
          count={rows.length}
          onSelectAll={(all) => setSelected(new Set(all ? rows.map(({ id }) => id) : []))}
          onDone={finish}
        />
      )}
      <PagedTable
        caption="Contacts"
        pages={pages}
        columns={buildColumns(selected, toggle)}
        rowKey={({ id }) => id}
        empty={isFiltered ? <NoneFound /> : <NoContacts />}
      />
    </>
  )
}

function NoneFound(): VNode {
  return (
    <Empty title="No contact found">
      <p>No address begins with this text.</p>
    </Empty>
  )
}

function NoContacts(): VNode {
  return (
    <Empty title="No contact yet">
      <p>Add contacts one by one, or import a CSV file into an audience.</p>
    </Empty>
  )
}

function buildColumns(
  selected: ReadonlySet<string>,
  onToggle: (id: string, isSelected: boolean) => void,
): readonly Column<Contact>[] {
  return [
    {
      title: 'Address',
      show: ({ id, email }) => (
        <span class="selectable">
          <input
            type="checkbox"
            aria-label={`Select ${email}`}
            checked={selected.has(id)}
            onChange={(event) => onToggle(id, event.currentTarget.checked)}
          />
          <Link href={`/contacts/${id}`}>{allowBreaks(email)}</Link>
        </span>
      ),
    },
    { title: 'Name', show: ({ first_name: first, last_name: last }) => formatName(first, last) },
    { title: 'State', show: ({ subscribed }) => <SubscriptionBadge subscribed={subscribed} /> },
    { title: 'Added', show: ({ created_at: at }) => <Time at={at} kind="day" /> },
  ]
}

function formatName(first: string | null, last: string | null): string {
  return [first, last].filter((part) => part !== null && part !== '').join(' ') || '–'
}

export function SubscriptionBadge({ subscribed }: Pick<Contact, 'subscribed'>): VNode {
  return subscribed ? <StatusBadge status="subscribed" /> : <StatusBadge status="unsubscribed" />
}

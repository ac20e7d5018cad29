/** Contacts of one audience or of all, with a search, a state and an order, and acts on the selected ones. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { PAGE_SIZE, type Pages, toCursorPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button } from '../../components/button.tsx'
import { SelectField, TextField } from '../../components/fields.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { HelpLink } from '../../components/help-link.tsx'
import { Empty } from '../../components/loaded.tsx'
import { type Column, PagedTable, type Sorting } from '../../components/table.tsx'
import { Note, StatusBadge, Time } from '../../components/values.tsx'
import { describeReason } from '../suppressions/suppression.ts'
import type { ListedContact } from './audience.ts'
import { BulkActs } from './bulk-acts.tsx'
import './audiences.css'

interface ContactListProps {
  /** Null means all contacts of the workspace. */
  readonly audienceId: string | null
  readonly onChanged?: () => void
}

const filterNames = ['search', 'state']

const states = [
  { value: 'subscribed', label: 'Subscribed' },
  { value: 'unsubscribed', label: 'Unsubscribed' },
  { value: 'suppressed', label: 'Suppressed: bounced, complained or added by hand' },
] as const
const stateOptions = [{ value: '', label: 'Any' }, ...states]

export function ContactList({ audienceId, onChanged }: ContactListProps): VNode {
  const filters = useFilters([...filterNames, 'sort'])
  const search = filters.get('search')
  const state = states.find(({ value }) => value === filters.get('state'))?.value
  const isFiltered = search !== '' || state !== undefined
  const isByAddress = !isFiltered && filters.get('sort') === 'address'
  const load = async (cursor: string | undefined) => {
    const query = {
      limit: PAGE_SIZE,
      ...(cursor === undefined ? {} : { cursor }),
      ...(audienceId === null ? {} : { audience_id: audienceId }),
      ...(search === '' ? {} : { search }),
      ...(state === undefined ? {} : { state }),
      ...(isByAddress ? { sort: 'address' as const } : {}),
    }
    return toCursorPage(await unwrap(sessionApi.GET('/ui/api/contacts', { params: { query } })))
  }
  const pages = usePages(load, [audienceId, filters.key])
  // A search has its own order, and no index has another one.
  const sorting: Sorting | undefined = isFiltered
    ? undefined
    : {
        by: isByAddress ? 'Address' : 'Added',
        onSort: (title) => filters.set({ sort: title === 'Address' ? 'address' : '' }),
      }
  return (
    <>
      <Filters names={filterNames} filters={filters}>
        <TextField name="search" label="Part of the address or name" type="search" value={search} optional />
        <SelectField name="state" label="State" options={stateOptions} value={filters.get('state')} />
      </Filters>
      <SelectableContacts
        audienceId={audienceId}
        pages={pages}
        isFiltered={isFiltered}
        sorting={sorting}
        onChanged={onChanged}
      />
    </>
  )
}

interface SelectableProps {
  readonly audienceId: string | null
  readonly pages: Pages<ListedContact>
  readonly isFiltered: boolean
  readonly sorting: Sorting | undefined
  readonly onChanged: (() => void) | undefined
}

function SelectableContacts({ audienceId, pages, isFiltered, sorting, onChanged }: SelectableProps): VNode {
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
        sorting={sorting}
        rowKey={({ id }) => id}
        empty={isFiltered ? <NoneFound isPartial={isPartial(pages)} /> : <NoContacts audienceId={audienceId} />}
      />
      {isFiltered && isPartial(pages) ? <SearchedPart showNext={pages.showNext} /> : null}
    </>
  )
}

/** A request compares a bounded number of contacts with the filters. */
function isPartial({ data }: Pages<ListedContact>): boolean {
  return data !== undefined && data.next !== null && data.rows.length < PAGE_SIZE
}

function SearchedPart({ showNext }: { readonly showNext: (() => void) | null }): VNode {
  return (
    <Note tone="info">
      <p>Only the newest contacts have been searched so far.</p>
      <Button small onClick={() => showNext?.()}>
        Search older contacts
      </Button>
    </Note>
  )
}

function NoneFound({ isPartial: some }: { readonly isPartial: boolean }): VNode {
  if (some) return <Empty title="None of the newest contacts matches" />
  return (
    <Empty title="No contact found">
      <p>No contact has this text in its address or name, and this state.</p>
    </Empty>
  )
}

function NoContacts({ audienceId }: { readonly audienceId: string | null }): VNode {
  const into = audienceId === null ? '' : `?audience=${audienceId}`
  return (
    <Empty title="No contact yet">
      <p>
        <Link href={`/contacts/new${into}`}>Enter one by hand</Link>,{' '}
        {audienceId === null ? (
          <>
            choose <Link href="/audiences">an audience</Link> to load a CSV file into,
          </>
        ) : (
          <Link href={`/audiences/${audienceId}/import`}>load a CSV file</Link>
        )}{' '}
        or <HelpLink topic="audiences#contacts">add contacts from your program</HelpLink>.
      </p>
    </Empty>
  )
}

function buildColumns(
  selected: ReadonlySet<string>,
  onToggle: (id: string, isSelected: boolean) => void,
): readonly Column<ListedContact>[] {
  return [
    {
      title: 'Address',
      sortable: true,
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
    { title: 'Name', isPlain: true, show: ({ first_name: first, last_name: last }) => formatName(first, last) },
    { title: 'State', isPlain: true, show: (contact) => <ContactState contact={contact} /> },
    { title: 'Added', sortable: true, show: ({ created_at: at }) => <Time at={at} kind="day" /> },
  ]
}

function formatName(first: string | null, last: string | null): string {
  return [first, last].filter((part) => part !== null && part !== '').join(' ') || '–'
}

/** A suppressed address leads to its entry, which says why and can be removed. */
function ContactState({ contact: { email, subscribed, suppressed } }: { readonly contact: ListedContact }): VNode {
  return (
    <>
      <SubscriptionBadge subscribed={subscribed} />
      {suppressed === null ? null : (
        <span class="row-note">
          <Link href={`/suppressions?${new URLSearchParams({ email })}`}>Suppressed</Link>:{' '}
          {describeReason(suppressed).toLowerCase()}
        </span>
      )}
    </>
  )
}

export function SubscriptionBadge({ subscribed }: Pick<ListedContact, 'subscribed'>): VNode {
  return subscribed ? <StatusBadge status="subscribed" /> : <StatusBadge status="unsubscribed" />
}

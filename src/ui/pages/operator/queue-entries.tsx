/** The entries of the queue with filters, and acts on one entry or on all that match. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { ApiError } from '../../api/api-error.ts'
import { sessionApi, unwrap } from '../../api/client.ts'
import { type ListPage, PAGE_SIZE, toCursorPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { SelectField, TextField } from '../../components/fields.tsx'
import { FilterErrors } from '../../components/filter-errors.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { capitalize, formatNumber } from '../../components/format.ts'
import { Empty } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time, toWords } from '../../components/values.tsx'
import type { QueueAct, QueueEntry, QueueFilters, QueueProvider, QueueStatus, QueueWork } from './operator-types.ts'
import { DeleteDialog, EntryActs } from './queue-entry-acts.tsx'
import { MatchingActs } from './queue-work.tsx'

const filterNames = ['domain', 'provider', 'status', 'reason', 'workspace_id'] as const
const statuses: readonly QueueStatus[] = ['queued', 'deferred', 'scheduled', 'sending', 'held']

interface QueueEntriesProps {
  /** The providers that have entries. */
  readonly providers: readonly QueueProvider[]
  readonly work: QueueWork | null
  readonly onChanged: () => void
}

export function QueueEntries({ providers, work, onChanged }: QueueEntriesProps): VNode {
  const filters = useFilters(filterNames)
  const query = readFilters(filters.get)
  const pages = usePages((cursor) => loadEntries(query, cursor), [filters.key, work?.state])
  const [deleting, setDeleting] = useState<QueueEntry | null>(null)
  const changed = (): void => {
    pages.reload()
    onChanged()
  }
  const act = async (entry: QueueEntry, what: QueueAct): Promise<void> => {
    await changeEntry(entry, what)
    changed()
  }
  return (
    <>
      <EntryFilters filters={filters} providers={providers} error={pages.error} />
      {filters.isFiltered ? (
        <MatchingActs filters={query} disabled={work?.state === 'running'} onStarted={changed} />
      ) : null}
      <PagedTable
        caption="Entries of the queue, oldest first"
        pages={pages}
        columns={[...columns, buildActions(act, setDeleting)]}
        rowKey={({ id }) => id}
        empty={<EmptyPage isFiltered={filters.isFiltered} hasMore={pages.showNext !== null} />}
      />
      {deleting === null ? null : (
        <DeleteDialog entry={deleting} onConfirm={() => act(deleting, 'delete')} onClose={() => setDeleting(null)} />
      )}
    </>
  )
}

interface EntryFiltersProps extends Pick<QueueEntriesProps, 'providers'> {
  readonly filters: ReturnType<typeof useFilters>
  readonly error: ApiError | null
}

function EntryFilters({ filters, providers, error }: EntryFiltersProps): VNode {
  const [provider, reason] = [filters.get('provider'), filters.get('reason')]
  const names = providers.map(({ provider: value, name: label }) => ({ value, label }))
  const words = providers.flatMap(({ reasons }) => reasons.map((one) => one.reason)).sort()
  const reasons = [...new Set(words)].map((value) => ({ value, label: toWords(value) }))
  return (
    <Filters names={filterNames} filters={filters}>
      <FilterErrors error={error}>
        <TextField name="domain" label="Recipient domain" type="search" optional value={filters.get('domain')} />
        <SelectField name="provider" label="Provider" options={withChosen(names, provider)} value={provider} />
        <SelectField name="status" label="Status" options={statusOptions} value={filters.get('status')} />
        <SelectField name="reason" label="Reason" options={withChosen(reasons, reason)} value={reason} />
        <TextField
          name="workspace_id"
          label="Workspace ID"
          type="search"
          optional
          value={filters.get('workspace_id')}
        />
      </FilterErrors>
    </Filters>
  )
}

interface Option {
  readonly value: string
  readonly label: string
}

/** Offers a value of the address too, whether it has entries or not. */
function withChosen(options: readonly Option[], chosen: string): readonly Option[] {
  const isListed = chosen === '' || options.some(({ value }) => value === chosen)
  return [{ value: '', label: 'Any' }, ...options, ...(isListed ? [] : [{ value: chosen, label: toWords(chosen) }])]
}

const statusOptions = [
  { value: '', label: 'Any' },
  ...statuses.map((status) => ({ value: status, label: status.charAt(0).toUpperCase() + status.slice(1) })),
]

function readFilters(get: (name: string) => string): QueueFilters {
  const status = statuses.find((known) => known === get('status'))
  return {
    ...(get('domain') === '' ? {} : { domain: get('domain') }),
    ...(get('provider') === '' ? {} : { provider: get('provider') }),
    ...(get('reason') === '' ? {} : { reason: get('reason') }),
    ...(status === undefined ? {} : { status }),
    ...(get('workspace_id') === '' ? {} : { workspace_id: get('workspace_id') }),
  }
}

async function loadEntries(filters: QueueFilters, cursor: string | undefined): Promise<ListPage<QueueEntry>> {
  const query = { ...filters, limit: PAGE_SIZE, ...(cursor === undefined ? {} : { cursor }) }
  return toCursorPage(await unwrap(sessionApi.GET('/ui/api/operator/queue/entries', { params: { query } })))
}

const done: Readonly<Record<QueueAct, string>> = {
  hold: 'is held',
  release: 'is released',
  retry: 'is tried now',
  delete: 'is removed: its recipient has failed',
}

async function changeEntry({ id, recipient }: QueueEntry, act: QueueAct): Promise<void> {
  const { changed } = await unwrap(sessionApi.POST('/ui/api/operator/queue/acts', { body: { act, ids: [id] } }))
  if (changed.length > 0) notify(`The mail to ${recipient} ${done[act]}.`)
  else
    notify(`The mail to ${recipient} has not changed: it is being sent, is settled, or is in another state now.`, 'bad')
}

function EmptyPage({ isFiltered, hasMore }: { readonly isFiltered: boolean; readonly hasMore: boolean }): VNode {
  if (hasMore) return <Empty title="None of the first 5,000 entries matches. The next page searches further" />
  return <Empty title={isFiltered ? 'No entry matches' : 'The queue is empty'} />
}

const columns: readonly Column<QueueEntry>[] = [
  {
    title: 'Recipient',
    show: ({ recipient, subject, from_email: from }) => (
      <span class="wide-value">
        {allowBreaks(recipient)}
        <span class="row-note">{subject === '' ? 'No subject' : subject}</span>
        <span class="row-note">from {allowBreaks(from)}</span>
      </span>
    ),
  },
  {
    title: 'Status',
    show: ({ status, attempts, enqueued_at: accepted }) => (
      <>
        <StatusBadge status={status} />
        {attempts === 0 ? null : <span class="row-note">{describeTries(attempts)}</span>}
        {status === 'scheduled' ? null : (
          <span class="row-note">
            accepted <Time at={accepted} kind="relative" />
          </span>
        )}
      </>
    ),
  },
  {
    title: 'Waits for',
    show: ({ last_response: response, ...entry }) => (
      <>
        {entry.hold_rule === null ? (
          capitalize(describeWait(entry))
        ) : (
          <>
            The end of{' '}
            <Link href={`/operator/queue?tab=rules&rule=${entry.hold_rule}`}>hold rule {entry.hold_rule}</Link>
          </>
        )}
        {isTimed(entry.status) ? (
          <>
            , <Time at={entry.next_attempt_at} kind="relative" />
          </>
        ) : null}
        {response === null ? null : <span class="row-note">{response}</span>}
      </>
    ),
  },
]

/** Held entries wait for a person, and entries that are being sent wait for the answer. */
function isTimed(status: QueueStatus): boolean {
  return status !== 'held' && status !== 'sending'
}

function describeWait({
  reason,
  attempts,
  waits_for: waits,
}: Pick<QueueEntry, 'reason' | 'attempts' | 'waits_for'>): string {
  if (waits !== null) return waits
  if (reason === 'held') return 'a release by the operator'
  if (reason === 'held-by-workspace') return 'a release by its workspace or the operator'
  if (reason === 'sending') return 'the answer of the server'
  if (reason === 'scheduled') return 'its scheduled time'
  return attempts === 0 ? 'the first try' : 'the next try'
}

function describeTries(attempts: number): string {
  return attempts === 1 ? 'tried once' : `tried ${formatNumber(attempts)} times`
}

function buildActions(
  act: (entry: QueueEntry, what: QueueAct) => Promise<void>,
  onDelete: (entry: QueueEntry) => void,
): Column<QueueEntry> {
  return {
    title: 'Actions',
    kind: 'actions',
    show: (entry) => <EntryActs entry={entry} onAct={(what) => act(entry, what)} onDelete={() => onDelete(entry)} />,
  }
}

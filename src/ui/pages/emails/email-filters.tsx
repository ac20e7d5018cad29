/** The filters of the list of emails, and the request that they make. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import type { paths } from '../../api/session-schema.d.ts'
import { SelectField, TextField } from '../../components/fields.tsx'
import { Filters, type useFilters } from '../../components/filters.tsx'
import { toMoment } from '../../components/form-values.ts'
import { nameMailState } from '../../components/mail-state.tsx'
import { Note } from '../../components/values.tsx'

type Query = NonNullable<paths['/ui/api/emails']['get']['parameters']['query']>

const statuses = [
  'scheduled',
  'queued',
  'sent',
  'delivered',
  'bounced',
  'failed',
  'cancelled',
  'complained',
] as const satisfies readonly NonNullable<Query['status']>[]

const laterNames = ['recipient', 'subject', 'domain', 'tag', 'from', 'to']
const shownNames = ['text', 'status', 'broadcasts', ...laterNames]
/** Links to this page set `broadcast_id`. */
export const filterNames = [...shownNames, 'broadcast_id']

const broadcastOptions = [
  { value: '', label: 'Hide, unless a whole address is given' },
  { value: 'all', label: 'Show too' },
]

export function toQuery(get: (name: string) => string): Query {
  const [tagName = '', tagValue = ''] = get('tag')
    .split(/[:=]/, 2)
    .map((part) => part.trim())
  const status = statuses.find((known) => known === get('status'))
  return {
    ...(status === undefined ? {} : { status }),
    ...readTexts({ tag_name: tagName, tag_value: tagValue, from: toMoment(get('from')), to: toMoment(get('to')) }),
    ...readTexts({ text: get('text'), recipient: get('recipient'), subject: get('subject'), domain: get('domain') }),
    ...readTexts({ broadcast_id: get('broadcast_id') }),
    ...(get('broadcasts') === 'all' && get('broadcast_id') === '' ? { broadcasts: 'all' } : {}),
    ...(get('order') === 'oldest' ? { order: 'oldest' } : {}),
  }
}

function readTexts(values: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  return Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ''))
}

export function EmailFilters({ filters }: { readonly filters: ReturnType<typeof useFilters> }): VNode {
  const { get } = filters
  const options = [{ value: '', label: 'Any' }, ...statuses.map((value) => ({ value, label: nameMailState(value) }))]
  return (
    <>
      <Filters names={shownNames} filters={filters}>
        <TextField
          name="text"
          label="Address, subject or Message-ID"
          type="search"
          optional
          placeholder="bob@example.com"
          value={get('text')}
        />
        <SelectField name="status" label="Status" options={options} value={get('status')} />
        <SelectField
          name="broadcasts"
          label="Emails of broadcasts"
          options={broadcastOptions}
          value={get('broadcasts')}
        />
        <LaterFilters get={get} />
      </Filters>
      {get('broadcast_id') === '' ? null : (
        <Note tone="info">
          <p>
            Only the emails of one broadcast are shown. <Link href="/emails">Show the others</Link>
          </p>
        </Note>
      )}
    </>
  )
}

function LaterFilters({ get }: { readonly get: (name: string) => string }): VNode {
  return (
    <details class="more more-filters" open={laterNames.some((name) => get(name) !== '')}>
      <summary>More filters</summary>
      <div class="form-inline">
        <TextField name="recipient" label="Recipient" optional value={get('recipient')} />
        <TextField name="subject" label="Subject" optional value={get('subject')} />
        <TextField name="domain" label="Sending domain" optional value={get('domain')} />
        <TextField name="tag" label="Tag" optional placeholder="name:value" value={get('tag')} />
        <TextField name="from" label="Accepted from" type="datetime-local" optional value={get('from')} />
        <TextField name="to" label="Accepted until" type="datetime-local" optional value={get('to')} />
      </div>
    </details>
  )
}

/** The deliveries of a webhook, newest first. The page follows pending ones until they end. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import { PAGE_SIZE, toCursorPage, usePages } from '../../api/use-pages.ts'
import { Button } from '../../components/button.tsx'
import { SelectField } from '../../components/fields.tsx'
import { Filters, useFilters } from '../../components/filters.tsx'
import { capitalize, formatNumber } from '../../components/format.ts'
import { Empty } from '../../components/loaded.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time, toWords } from '../../components/values.tsx'
import { DeliveryDialog } from './delivery-dialog.tsx'
import type { Delivery, Webhook } from './webhook.ts'

const names = ['status']
const statuses = ['pending', 'delivered', 'failed'] as const

/** Milliseconds between two loads while an attempt is near, and while deliveries wait for a retry. */
const SOON = 1_500
const LATER = 15_000

interface DeliveryListProps {
  readonly webhook: Webhook
  /** Another number means that there are new deliveries. */
  readonly acts: number
  readonly onReplayed: () => void
}

export function DeliveryList({ webhook, acts, onReplayed }: DeliveryListProps): VNode {
  const { id } = webhook
  const filters = useFilters(names)
  const [shown, setShown] = useState<Delivery | null>(null)
  const status = statuses.find((one) => one === filters.get('status'))
  const load = async (cursor: string | undefined) => {
    const query = {
      limit: PAGE_SIZE,
      ...(status === undefined ? {} : { status }),
      ...(cursor === undefined ? {} : { cursor }),
    }
    return toCursorPage(await unwrap(api.GET('/v1/webhooks/{id}/deliveries', { params: { path: { id }, query } })))
  }
  const pages = usePages(load, [id, filters.key, acts], { every: ({ rows }) => findPause(rows) })
  const options = [{ value: '', label: 'All' }, ...statuses.map((value) => ({ value, label: toWords(value) }))]
  return (
    <>
      <Filters names={names} filters={filters}>
        <SelectField name="status" label="Status" options={options} value={filters.get('status')} />
      </Filters>
      <PagedTable
        caption="Deliveries"
        pages={pages}
        columns={buildColumns(webhook, setShown)}
        rowKey={(row) => row.id}
        empty={
          <Empty title={filters.isFiltered ? 'No delivery in this state' : 'No delivery yet'}>
            <p>An event is listed after its first attempt.</p>
          </Empty>
        }
      />
      {shown === null ? null : (
        <DeliveryDialog webhook={webhook} delivery={shown} onReplayed={onReplayed} onClose={() => setShown(null)} />
      )}
    </>
  )
}

/** Null means that nothing will change by itself. */
function findPause(rows: readonly Delivery[]): number | null {
  const pending = rows.filter(({ status }) => status === 'pending')
  if (pending.length === 0) return null
  return pending.some(({ attempts }) => attempts === 0) ? SOON : LATER
}

function buildColumns(webhook: Webhook, onShow: (delivery: Delivery) => void): readonly Column<Delivery>[] {
  return [
    { title: 'Event', show: ({ type }) => <span class="one-line">{type}</span> },
    { title: 'Status', show: (delivery) => <DeliveryStatus delivery={delivery} /> },
    { title: 'Answer', show: (delivery) => <Answer delivery={delivery} waits={webhook.enabled} /> },
    { title: 'Created', show: ({ created_at: at }) => <Time at={at} /> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (delivery) => (
        <Button small onClick={() => onShow(delivery)} label={`Details of ${delivery.type}, ${delivery.id}`}>
          Details
        </Button>
      ),
    },
  ]
}

function DeliveryStatus({ delivery: { status, attempts } }: { readonly delivery: Delivery }): VNode {
  return (
    <>
      <StatusBadge status={status} />
      {attempts === 0 ? null : (
        <span class="row-note">
          {formatNumber(attempts)} {attempts === 1 ? 'attempt' : 'attempts'}
        </span>
      )}
    </>
  )
}

interface AnswerProps {
  readonly delivery: Delivery
  /** A disabled webhook gets no further attempts. */
  readonly waits: boolean
}

function Answer({ delivery, waits }: AnswerProps): VNode {
  const { attempts, response_status: status, error, next_attempt_at: next } = delivery
  return (
    <>
      {attempts === 0 ? 'Not attempted yet' : (status ?? (error === null ? 'None' : capitalize(error)))}
      {!waits || next === null || attempts === 0 ? null : (
        <span class="row-note">
          Next attempt <Time at={next} kind="relative" />
        </span>
      )}
    </>
  )
}

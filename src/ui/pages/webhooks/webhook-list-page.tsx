/** All webhooks of the workspace. */
import type { VNode } from 'preact'
import { Link } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { ButtonLink } from '../../components/button.tsx'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { Page } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import { EventTypes } from './event-types.tsx'
import type { Webhook } from './webhook.ts'
import { WebhookState } from './webhook-state.tsx'

export function WebhookListPage(): VNode {
  const webhooks = useLoad(() => unwrap(api.GET('/v1/webhooks')))
  const create = (
    <ButtonLink href="/webhooks/new" tone="primary">
      Create a webhook
    </ButtonLink>
  )
  return (
    <Page
      title="Webhooks"
      intro="Posthorn sends the events of your mail to these URLs, as signed requests."
      actions={mayAdminister.value ? create : undefined}
    >
      <Loaded from={webhooks}>
        {({ data }) =>
          data.length === 0 ? (
            <Empty title="No webhook yet">
              <p>Create one to learn of deliveries, bounces, complaints and inbound mail at once.</p>
            </Empty>
          ) : (
            <Table caption="Webhooks of this workspace" columns={columns} rows={data} rowKey={({ id }) => id} />
          )
        }
      </Loaded>
    </Page>
  )
}

const columns: readonly Column<Webhook>[] = [
  {
    title: 'URL',
    show: ({ id, url }) => (
      <Link class="wide-value" href={`/webhooks/${id}`}>
        {allowBreaks(url)}
      </Link>
    ),
  },
  { title: 'State', show: (webhook) => <WebhookState webhook={webhook} /> },
  {
    title: 'Events',
    show: ({ events }) => <EventTypes events={events} />,
  },
  { title: 'Last delivery', show: ({ last_delivery: last }) => <LastDelivery last={last} /> },
  { title: 'Created', show: ({ created_at: at }) => <Time at={at} kind="day" /> },
]

function LastDelivery({ last }: { readonly last: Webhook['last_delivery'] }): VNode {
  if (last === null) return <span class="soft">None yet</span>
  const { status, response_status: answer, at } = last
  return (
    <>
      <StatusBadge status={status} />
      <span class="row-note">
        {answer === null ? 'No answer' : `Answer ${answer}`}, <Time at={at} kind="relative" />
      </span>
    </>
  )
}

/** One webhook: its state, its deliveries, its settings, its secret, its deletion. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { useLoad } from '../../api/use-load.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button } from '../../components/button.tsx'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Tabs } from '../../components/tabs.tsx'
import { Copy, Facts, Note, StatusBadge, Time } from '../../components/values.tsx'
import { DeliveryList } from './delivery-list.tsx'
import { EventTypes } from './event-types.tsx'
import { ReplayDialog } from './replay-dialog.tsx'
import { toFormatName } from './request-fields.tsx'
import type { Webhook } from './webhook.ts'
import { WebhookSettings } from './webhook-settings.tsx'
import { WebhookState } from './webhook-state.tsx'

/** Milliseconds between two loads of the state. */
const PAUSE = 15_000

export function WebhookPage({ params: { id = '' } }: PageProps): VNode {
  const path = { params: { path: { id } } }
  const webhook = useLoad(() => unwrap(api.GET('/v1/webhooks/{id}', path)), [id], { every: () => PAUSE })
  /** The number of acts that make deliveries. The list is loaded again after each. */
  const [acts, setActs] = useState(0)
  const [replaying, setReplaying] = useState(false)
  const showNew = (): void => setActs((before) => before + 1)
  const test = async (): Promise<void> => {
    await unwrap(api.POST('/v1/webhooks/{id}/test', path))
    notify('A test event is on its way.')
    showNew()
  }
  const actions = <Actions onTest={test} onReplay={() => setReplaying(true)} />
  const { data } = webhook
  return (
    <Page
      title={data === undefined ? 'Webhook' : new URL(data.url).host}
      badge={data === undefined ? null : <WebhookState webhook={data} />}
      up={{ href: '/webhooks', label: 'Webhooks' }}
      intro={data === undefined ? undefined : <Address url={data.url} />}
      actions={mayAdminister.value && data?.enabled === true ? actions : undefined}
    >
      <Loaded from={webhook}>
        {(loaded) => (
          <>
            <WebhookParts webhook={loaded} onChanged={webhook.replace} acts={acts} onReplayed={showNew} />
            {replaying ? (
              <ReplayDialog webhook={loaded} onReplayed={showNew} onClose={() => setReplaying(false)} />
            ) : null}
          </>
        )}
      </Loaded>
    </Page>
  )
}

function Address({ url }: { readonly url: string }): VNode {
  return <code>{allowBreaks(url)}</code>
}

interface ActionsProps {
  readonly onTest: () => Promise<void>
  readonly onReplay: () => void
}

function Actions({ onTest, onReplay }: ActionsProps): VNode {
  return (
    <>
      <Button tone="primary" onClick={onTest}>
        Send a test event
      </Button>
      <Button onClick={onReplay}>Replay a time range</Button>
    </>
  )
}

interface PartsProps {
  readonly webhook: Webhook
  readonly onChanged: (webhook: Webhook) => void
  readonly acts: number
  readonly onReplayed: () => void
}

function WebhookParts({ webhook, onChanged, acts, onReplayed }: PartsProps): VNode {
  const { events, created_at: created, updated_at: updated, last_delivery: last, verification_key: key } = webhook
  const deliveries = <DeliveryList webhook={webhook} acts={acts} onReplayed={onReplayed} />
  return (
    <>
      {webhook.enabled && webhook.failing_since !== null ? <FailingNote since={webhook.failing_since} /> : null}
      {webhook.enabled ? null : <DisabledNote webhook={webhook} onChanged={onChanged} />}
      <Facts
        facts={[
          { name: 'Last delivery', value: last === null ? 'None yet' : <StatusBadge status={last.status} /> },
          { name: 'Created', value: <Time at={created} /> },
          ...(updated === created ? [] : [{ name: 'Changed', value: <Time at={updated} /> }]),
          { name: 'Events', value: <EventTypes events={events} /> },
          { name: 'Format', value: toFormatName(webhook.format) },
          ...(key === null
            ? []
            : [{ name: 'Verification key', value: <Copy text={key} label="the verification key" /> }]),
        ]}
      />
      {mayAdminister.value ? (
        <Tabs
          label="Parts of the webhook"
          tabs={[
            { id: 'deliveries', title: 'Deliveries', show: () => deliveries },
            {
              id: 'settings',
              title: 'Settings',
              show: () => <WebhookSettings webhook={webhook} onChanged={onChanged} />,
            },
          ]}
        />
      ) : (
        deliveries
      )}
    </>
  )
}

function FailingNote({ since }: { readonly since: string }): VNode {
  return (
    <Note tone="bad" title="The deliveries fail">
      <p>
        No attempt has succeeded since <Time at={since} />. The details of a delivery say what the endpoint answered.
        Posthorn repeats failed deliveries, and disables the webhook after three days without a success.
      </p>
    </Note>
  )
}

interface DisabledNoteProps {
  readonly webhook: Webhook
  readonly onChanged: (webhook: Webhook) => void
}

const reasons = {
  gone: 'The endpoint answered with status 410, which says that it is gone permanently.',
  failing: 'No attempt succeeded for three days.',
} as const

function DisabledNote({ webhook: { id, disabled_reason: reason }, onChanged }: DisabledNoteProps): VNode {
  const enable = async (): Promise<void> => {
    const body = { enabled: true }
    onChanged(await unwrap(api.PATCH('/v1/webhooks/{id}', { params: { path: { id } }, body })))
    notify('The webhook is enabled.')
  }
  return (
    <Note tone={reason === null ? 'info' : 'bad'} title="This webhook is disabled">
      <p>
        {reason === null ? 'It gets no events.' : reasons[reason]} If you enable it again, it continues with new events.
        A replay delivers earlier ones.
      </p>
      {mayAdminister.value ? <Button onClick={enable}>Enable it</Button> : null}
    </Note>
  )
}

/** Asks the user to confirm that a broadcast is sent, now or later, and shows the number of its recipients. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, sessionApi, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFutureTime } from '../../components/form-values.ts'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Facts, Note } from '../../components/values.tsx'
import type { Broadcast } from './broadcast.ts'

interface SendDialogProps {
  readonly broadcast: Broadcast
  readonly onSent: (broadcast: Broadcast) => void
  readonly onClose: () => void
}

export function SendDialog({ broadcast, onSent, onClose }: SendDialogProps): VNode {
  const path = { id: broadcast.audience_id }
  const isRestricted = broadcast.not_opened_of !== null
  const numbers = useLoad(() => unwrap(sessionApi.GET('/ui/api/audiences/{id}/numbers', { params: { path } })))
  const send = async (values: FormData): Promise<void> => {
    const sent = await unwrap(
      api.POST('/v1/broadcasts/{id}/send', { params: { path: { id: broadcast.id } }, body: readSchedule(values) }),
    )
    notify(sent.status === 'scheduled' ? 'The broadcast is scheduled.' : 'The broadcast is being sent.')
    onSent(sent)
    onClose()
  }
  return (
    <Dialog title={`Send “${broadcast.name}”`} onClose={onClose}>
      <Loaded from={numbers}>
        {({ contacts, subscribed }) => (
          <>
            {isRestricted ? null : (
              <Facts
                facts={[
                  { name: 'Recipients now', value: <strong>{formatNumber(subscribed)}</strong> },
                  { name: 'Not subscribed', value: formatNumber(contacts - subscribed) },
                ]}
              />
            )}
            {subscribed === 0 ? (
              <Note tone="warn">
                <p>The audience has no subscribed contact: the broadcast would reach no one.</p>
              </Note>
            ) : (
              <p class="dialog-remark">The broadcast does not go to suppressed addresses.</p>
            )}
            {isRestricted ? <RestrictedNote /> : null}
            <SendForm people={isRestricted ? null : countPeople(subscribed)} onSubmit={send} onClose={onClose} />
          </>
        )}
      </Loaded>
    </Dialog>
  )
}

function RestrictedNote(): VNode {
  return (
    <Note tone="info">
      <p>
        This broadcast goes only to subscribed contacts who got the earlier broadcast and have neither opened it nor
        followed a link when their turn comes, at most once to each.
      </p>
    </Note>
  )
}

function countPeople(subscribed: number): string {
  return `${formatNumber(subscribed)} ${subscribed === 1 ? 'contact' : 'contacts'}`
}

interface SendFormProps {
  /** How many get it, in words. Null if that is not known before. */
  readonly people: string | null
  readonly onSubmit: (values: FormData) => Promise<void>
  readonly onClose: () => void
}

function SendForm({ people, onSubmit, onClose }: SendFormProps): VNode {
  const [time, setTime] = useState('')
  return (
    <Form onSubmit={onSubmit}>
      <TextField
        name="scheduled_for"
        label="Send at"
        type="datetime-local"
        optional
        onInput={setTime}
        hint="The time is in your time zone and at most 30 days ahead. Leave it empty to send now."
      />
      <FormActions>
        <SubmitButton>{nameAct(people, time === '')}</SubmitButton>
        <Button onClick={onClose}>Cancel</Button>
      </FormActions>
    </Form>
  )
}

function nameAct(people: string | null, isNow: boolean): string {
  if (people === null) return isNow ? 'Send now' : 'Schedule'
  return isNow ? `Send to ${people} now` : `Schedule for about ${people}`
}

function readSchedule(values: FormData): { scheduled_for?: string } {
  const at = readFutureTime(values, 'scheduled_for')
  return at === null ? {} : { scheduled_for: at }
}

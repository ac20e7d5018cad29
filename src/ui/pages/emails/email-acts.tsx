/**
 * The acts of members on a whole email. They cancel or reschedule a scheduled email, and retry or hold a waiting
 * one.
 */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog, Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFutureTime, toFieldTime } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { changeQueue } from './change-queue.ts'
import type { EmailPartProps, QueueAct } from './email.ts'

export function EmailActs({ email, onChanged }: EmailPartProps): VNode | null {
  if (email.status === 'scheduled') return <ScheduledActs email={email} onChanged={onChanged} />
  return email.recipients.length > 1 ? <QueuedActs email={email} onChanged={onChanged} /> : null
}

const actNames: Readonly<Record<QueueAct, string>> = {
  retry: 'Retry all now',
  hold: 'Hold all',
  release: 'Release all',
}
const actsOfAll: readonly QueueAct[] = ['retry', 'hold', 'release']

/** Acts on all recipients. The acts on a single recipient are next to that recipient. */
function QueuedActs({ email: { id, recipients }, onChanged }: EmailPartProps): VNode {
  return (
    <>
      {actsOfAll.map((act) => {
        const ids = recipients.filter(({ can }) => can.includes(act)).map((recipient) => recipient.id)
        return ids.length < 2 ? null : (
          <Button key={act} onClick={() => changeQueue(id, act, ids).finally(onChanged)}>
            {actNames[act]}
          </Button>
        )
      })}
    </>
  )
}

function ScheduledActs({ email, onChanged }: EmailPartProps): VNode {
  const [open, setOpen] = useState<'cancel' | 'reschedule' | null>(null)
  const close = (): void => setOpen(null)
  const sendNow = async (): Promise<void> => {
    await reschedule(email.id, new Date(0).toISOString()).finally(onChanged)
    notify('The email is sent now.')
  }
  return (
    <>
      <Button onClick={sendNow}>Send now</Button>
      <Button onClick={() => setOpen('reschedule')}>Reschedule</Button>
      <Button tone="danger" onClick={() => setOpen('cancel')}>
        Cancel the email
      </Button>
      {open === 'cancel' ? <CancelDialog email={email} onChanged={onChanged} onClose={close} /> : null}
      {open === 'reschedule' ? <RescheduleDialog email={email} onChanged={onChanged} onClose={close} /> : null}
    </>
  )
}

/** Reschedules the email. A time in the past means now. */
function reschedule(id: string, at: string): Promise<unknown> {
  return unwrap(api.PATCH('/v1/emails/{id}', { params: { path: { id } }, body: { scheduled_for: at } }))
}

interface ActDialogProps extends EmailPartProps {
  readonly onClose: () => void
}

function CancelDialog({ email: { id, recipients }, onChanged, onClose }: ActDialogProps): VNode {
  const cancel = async (): Promise<void> => {
    await unwrap(api.POST('/v1/emails/{id}/cancel', { params: { path: { id } } })).finally(onChanged)
    notify('The email is cancelled.')
  }
  const [first] = recipients
  return (
    <ConfirmDialog
      title="Cancel this email?"
      name={first?.email ?? 'cancel'}
      action="Cancel the email permanently"
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>It is never sent. You cannot schedule a cancelled email again.</p>
    </ConfirmDialog>
  )
}

function RescheduleDialog({ email: { id, scheduled_for: before }, onChanged, onClose }: ActDialogProps): VNode {
  const save = async (values: FormData): Promise<void> => {
    await reschedule(id, readFutureTime(values, 'scheduled_for') ?? '')
    notify('The email is scheduled for another time.')
    onChanged()
    onClose()
  }
  return (
    <Dialog title="Reschedule" onClose={onClose}>
      <Form onSubmit={save}>
        <TextField
          name="scheduled_for"
          label="Send at"
          type="datetime-local"
          value={before === null ? '' : toFieldTime(new Date(before))}
          hint="The time is in your time zone and at most 30 days ahead."
        />
        <FormActions>
          <SubmitButton>Save the time</SubmitButton>
          <Button onClick={onClose}>Close</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

/** Delivers the events of a time range again. */
import type { VNode } from 'preact'
import { toFieldError } from '../../api/api-error.ts'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { readNow } from '../../components/clock.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ChoicesField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readTime, toFieldTime } from '../../components/form-values.ts'
import { formatNumber } from '../../components/format.ts'
import { notify } from '../../components/notices.tsx'
import { listEventOptions, readEventTypes, type Webhook } from './webhook.ts'

interface ReplayDialogProps {
  readonly webhook: Webhook
  readonly onReplayed: () => void
  readonly onClose: () => void
}

const DAY = 86_400_000

export function ReplayDialog({ webhook: { id, events }, onReplayed, onClose }: ReplayDialogProps): VNode {
  const now = readNow()
  const replay = async (values: FormData): Promise<void> => {
    const body = {
      from: requireTime(values, 'from'),
      to: requireTime(values, 'to'),
      types: requireTypes(values, 'types'),
    }
    const { count } = await unwrap(api.POST('/v1/webhooks/{id}/replay', { params: { path: { id } }, body }))
    notify(count === 0 ? 'There are no events in this range.' : `Events to be delivered again: ${formatNumber(count)}.`)
    onReplayed()
    onClose()
  }
  return (
    <Dialog title="Replay a time range" onClose={onClose}>
      <Form onSubmit={replay}>
        <p>All events of the range are delivered again, oldest first. New events are delivered at the same time.</p>
        <TextField
          name="from"
          label="From"
          type="datetime-local"
          value={toFieldTime(new Date(now - DAY))}
          hint="The time is in your time zone."
        />
        <TextField name="to" label="Until" type="datetime-local" value={toFieldTime(new Date(now))} />
        <ChoicesField name="types" label="Events" options={listEventOptions(events)} chosen={events} />
        <FormActions>
          <SubmitButton>Replay</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

/** The server would take an empty list as all types. */
function requireTypes(values: FormData, field: string): ReturnType<typeof readEventTypes> {
  const types = readEventTypes(values, field)
  if (types.length > 0) return types
  throw toFieldError(field, 'Choose at least one type.')
}

/** A browser gives an empty value for an incomplete date. */
function requireTime(values: FormData, field: string): string {
  const time = readTime(values, field)
  if (time !== null) return time
  throw toFieldError(field, 'Enter a date and a time.')
}

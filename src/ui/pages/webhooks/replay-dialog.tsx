/** Delivers the events of a time range again. */
import type { VNode } from 'preact'
import { ApiError } from '../../api/api-error.ts'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ChoicesField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readTime } from '../../components/form-values.ts'
import { formatNumber } from '../../components/format.ts'
import { notify } from '../../shell/notices.tsx'
import { listEventOptions, readEventTypes, type Webhook } from './webhook.ts'

interface ReplayDialogProps {
  readonly webhook: Webhook
  readonly onReplayed: () => void
  readonly onClose: () => void
}

export function ReplayDialog({ webhook: { id, events }, onReplayed, onClose }: ReplayDialogProps): VNode {
  const replay = async (values: FormData): Promise<void> => {
    const body = {
      from: requireTime(values, 'from'),
      to: requireTime(values, 'to'),
      types: readEventTypes(values, 'types'),
    }
    const { count } = await unwrap(api.POST('/v1/webhooks/{id}/replay', { params: { path: { id } }, body }))
    notify(
      count === 0 ? 'There are no events in this range.' : `Events that are delivered again: ${formatNumber(count)}.`,
    )
    onReplayed()
    onClose()
  }
  return (
    <Dialog title="Replay a time range" onClose={onClose}>
      <Form onSubmit={replay}>
        <p>All events of the range are delivered again, oldest first, beside new ones.</p>
        <TextField name="from" label="From" type="datetime-local" hint="In your time zone." />
        <TextField name="to" label="Until" type="datetime-local" />
        <ChoicesField name="types" label="Events" options={listEventOptions(events)} chosen={events} />
        <FormActions>
          <SubmitButton>Replay</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

/** A browser gives an incomplete date as an empty one. */
function requireTime(values: FormData, field: string): string {
  const time = readTime(values, field)
  if (time !== null) return time
  const message = 'Enter a date and a time.'
  throw new ApiError(message, { status: 0, code: 'incomplete', fields: [{ field, message }] })
}

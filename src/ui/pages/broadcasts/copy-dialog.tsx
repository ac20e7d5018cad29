/** Makes a draft from a broadcast: a duplicate, or one to those who did not open it. */
import type { VNode } from 'preact'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { formatNumber } from '../../components/format.ts'
import { notify } from '../../components/notices.tsx'
import type { Broadcast } from './broadcast.ts'

interface CopyProps {
  readonly broadcast: Broadcast
}

/** `name` is undefined for the name that the server makes. */
type CopyBroadcast = (copy: { readonly name?: string; readonly only_not_opened?: boolean }) => Promise<void>

/** The function makes the draft and opens it. */
function useCopy({ id }: Broadcast): CopyBroadcast {
  const [, navigate] = useLocation()
  return async (body) => {
    const copy = await unwrap(api.POST('/v1/broadcasts/{id}/duplicate', { params: { path: { id } }, body }))
    notify(`The draft “${copy.name}” is made.`)
    navigate(`/broadcasts/${copy.id}`)
  }
}

export function DuplicateButton({ broadcast }: CopyProps): VNode {
  const copy = useCopy(broadcast)
  return <Button onClick={() => copy({})}>Duplicate</Button>
}

/** The most contacts who may be left: some of those who opened have unsubscribed too, for example. */
function countLeft(first: Broadcast): number {
  const { sent, bounced, complained, unsubscribed, unique_opens: opens, unique_clicks: clicks } = first
  return Math.max(0, sent - bounced - Math.max(opens, clicks, complained, unsubscribed))
}

export function AgainDialog({ broadcast, onClose }: CopyProps & { readonly onClose: () => void }): VNode {
  const copy = useCopy(broadcast)
  const { name } = broadcast
  const make = async (values: FormData): Promise<void> => {
    await copy({ name: readText(values, 'name'), only_not_opened: true })
    onClose()
  }
  return (
    <Dialog title="Send again to those who did not open" onClose={onClose}>
      <div class="dialog-text">
        <p>
          This makes a draft with the same content, which you can change before you send it. It goes only to contacts
          who got “{name}” and have neither opened it nor followed a link when their turn comes. Now these are at most{' '}
          {formatNumber(countLeft(broadcast))}.
        </p>
        <p>
          It leaves out contacts whose email bounced, who complained or who unsubscribed. Programs that load pictures do
          not count as opens, and some people read without loading pictures: they get the second email too.
        </p>
      </div>
      <Form onSubmit={make}>
        <TextField name="name" label="Name of the draft" value={`Again: ${name}`.slice(0, 255)} maxLength={255} />
        <FormActions>
          <SubmitButton>Make the draft</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

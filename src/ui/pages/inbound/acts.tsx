/** The acts on an inbound email: reply, report as spam or not, delete. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { notify } from '../../components/notices.tsx'
import { type InboundEmail, titleOf } from './inbound-email.ts'
import { ReplyDialog } from './reply-dialog.tsx'

interface ActsProps {
  readonly email: InboundEmail
  readonly onChanged: (email: InboundEmail) => void
  readonly onReplied: (emailId: string) => void
}

export function Acts({ email, onChanged, onReplied }: ActsProps): VNode {
  const [open, setOpen] = useState<'reply' | 'delete' | null>(null)
  const close = (): void => setOpen(null)
  return (
    <>
      <Button tone="primary" onClick={() => setOpen('reply')}>
        Reply
      </Button>
      {email.status === 'processed' ? <Feedback email={email} onChanged={onChanged} /> : null}
      <Button tone="danger" onClick={() => setOpen('delete')}>
        Delete
      </Button>
      {open === 'reply' ? <ReplyDialog email={email} onSent={onReplied} onClose={close} /> : null}
      {open === 'delete' ? <DeleteDialog email={email} onClose={close} /> : null}
    </>
  )
}

/** The user may report a suspicious email as either. */
function Feedback({ email, onChanged }: Omit<ActsProps, 'onReplied'>): VNode {
  const report = async (verdict: 'spam' | 'ham'): Promise<void> => {
    const params = { path: { id: email.id } }
    const answer = await unwrap(api.POST('/v1/inbound/{id}/feedback', { params, body: { verdict } }))
    onChanged({ ...email, spam_status: answer.spam_status })
    const what = verdict === 'spam' ? 'spam' : 'not spam'
    notify(answer.learned ? `The filter learned this message as ${what}.` : `It is marked as ${what}.`)
  }
  return (
    <>
      {email.spam_status === 'spam' ? null : <Button onClick={() => report('spam')}>Mark as spam</Button>}
      {email.spam_status === 'clean' ? null : <Button onClick={() => report('ham')}>Mark as not spam</Button>}
    </>
  )
}

function DeleteDialog({ email, onClose }: { readonly email: InboundEmail; readonly onClose: () => void }): VNode {
  const [, navigate] = useLocation()
  const remove = async (): Promise<void> => {
    await unwrap(api.DELETE('/v1/inbound/{id}', { params: { path: { id: email.id } } }))
    notify('The message is deleted.')
    navigate('/inbound')
  }
  return (
    <ConfirmDialog
      title="Delete this message?"
      name={email.from === '' ? 'delete' : email.from}
      action="Delete the message"
      onConfirm={remove}
      onClose={onClose}
    >
      <p>“{titleOf(email)}” and its attachments are deleted permanently.</p>
    </ConfirmDialog>
  )
}

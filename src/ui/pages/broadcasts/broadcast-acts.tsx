/** The acts that a broadcast allows in its state: edit, test and send; pause, resume and cancel; duplicate, send again. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { notify } from '../../components/notices.tsx'
import type { Broadcast } from './broadcast.ts'
import { AgainDialog, DuplicateButton } from './copy-dialog.tsx'
import { SendDialog } from './send-dialog.tsx'
import { TestDialog } from './test-dialog.tsx'

interface ActsProps {
  readonly broadcast: Broadcast
  readonly onChanged: (broadcast: Broadcast) => void
}

type OpenDialog = 'send' | 'test' | 'cancel' | 'again'

export function BroadcastActs({ broadcast, onChanged }: ActsProps): VNode {
  const [open, setOpen] = useState<OpenDialog | null>(null)
  const { id, status } = broadcast
  const close = (): void => setOpen(null)
  const isUnderWay = status === 'scheduled' || status === 'sending' || status === 'paused'
  return (
    <>
      {status === 'draft' ? <DraftActs id={id} onOpen={setOpen} /> : null}
      {isUnderWay ? <SendingActs broadcast={broadcast} onChanged={onChanged} /> : null}
      {mayRepeat(broadcast) ? (
        <Button onClick={() => setOpen('again')}>Send again to those who did not open</Button>
      ) : null}
      <DuplicateButton broadcast={broadcast} />
      {isUnderWay ? (
        <Button tone="danger" onClick={() => setOpen('cancel')}>
          Cancel the broadcast
        </Button>
      ) : null}
      {open === 'send' ? <SendDialog broadcast={broadcast} onSent={onChanged} onClose={close} /> : null}
      {open === 'test' ? <TestDialog id={id} onClose={close} /> : null}
      {open === 'again' ? <AgainDialog broadcast={broadcast} onClose={close} /> : null}
      {open === 'cancel' ? <CancelDialog broadcast={broadcast} onChanged={onChanged} onClose={close} /> : null}
    </>
  )
}

/** A broadcast can be sent again to those who did not open it once it has ended, if anybody got it. */
function mayRepeat({ finished_at: finished, delivered }: Broadcast): boolean {
  return finished !== null && delivered > 0
}

interface DraftActsProps {
  readonly id: string
  readonly onOpen: (dialog: OpenDialog) => void
}

function DraftActs({ id, onOpen }: DraftActsProps): VNode {
  return (
    <>
      <Button tone="primary" onClick={() => onOpen('send')}>
        Send
      </Button>
      <Button onClick={() => onOpen('test')}>Send a test</Button>
      <ButtonLink href={`/broadcasts/${id}/edit`}>Edit</ButtonLink>
    </>
  )
}

function SendingActs({ broadcast: { id, status }, onChanged }: ActsProps): VNode | null {
  const params = { path: { id } }
  const pause = async (): Promise<void> => {
    onChanged(await unwrap(api.POST('/v1/broadcasts/{id}/pause', { params })))
    notify('The broadcast is paused. Messages that are being transferred at this moment are still sent.')
  }
  const resume = async (): Promise<void> => {
    onChanged(await unwrap(api.POST('/v1/broadcasts/{id}/resume', { params })))
    notify('The broadcast continues.')
  }
  if (status === 'scheduled') return null
  return (
    <Button tone="primary" onClick={status === 'paused' ? resume : pause}>
      {status === 'paused' ? 'Resume' : 'Pause'}
    </Button>
  )
}

function CancelDialog({
  broadcast: { id, name, status },
  onChanged,
  onClose,
}: ActsProps & { readonly onClose: () => void }): VNode {
  const cancel = async (): Promise<void> => {
    onChanged(await unwrap(api.POST('/v1/broadcasts/{id}/cancel', { params: { path: { id } } })))
    notify(`The broadcast “${name}” is cancelled.`)
  }
  return (
    <ConfirmDialog
      title={`Cancel “${name}”?`}
      name={name}
      action="Cancel the broadcast"
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>
        {status === 'scheduled'
          ? 'It will not be sent. You cannot send a cancelled broadcast later.'
          : 'Messages in the queue are not sent. Messages that have left the queue stay sent. You cannot resume a cancelled broadcast.'}
      </p>
    </ConfirmDialog>
  )
}

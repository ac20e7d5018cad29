/** The acts on one entry of the queue. */
import type { VNode } from 'preact'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import type { QueueAct, QueueEntry } from './operator-types.ts'

interface EntryActsProps {
  readonly entry: QueueEntry
  readonly onAct: (act: QueueAct) => Promise<void>
  readonly onDelete: () => void
}

export function EntryActs({ entry: { recipient, status }, onAct, onDelete }: EntryActsProps): VNode | null {
  if (status === 'sending') return null
  const isHeld = status === 'held'
  return (
    <>
      <Button small onClick={() => onAct('retry')} label={`Try now: ${recipient}`}>
        Try now
      </Button>
      <Button
        small
        onClick={() => onAct(isHeld ? 'release' : 'hold')}
        label={isHeld ? `Release ${recipient}` : `Hold ${recipient}`}
      >
        {isHeld ? 'Release' : 'Hold'}
      </Button>
      <Button small onClick={onDelete} label={`Delete ${recipient}`}>
        Delete
      </Button>
    </>
  )
}

interface DeleteDialogProps {
  readonly entry: QueueEntry
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

export function DeleteDialog({ entry: { recipient }, onConfirm, onClose }: DeleteDialogProps): VNode {
  return (
    <ConfirmDialog
      title={`Delete the mail to ${recipient}?`}
      name={recipient}
      action="Delete from the queue"
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>The recipient fails and gets nothing. The sender sees it as failed by the operator.</p>
    </ConfirmDialog>
  )
}

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

export function EntryActs({ entry, onAct, onDelete }: EntryActsProps): VNode {
  const { recipient } = entry
  return (
    <>
      {listActs(entry).map(({ act, text, label }) => (
        <Button key={act} small onClick={() => onAct(act)} label={`${label} ${recipient}`}>
          {text}
        </Button>
      ))}
      {entry.status === 'sending' ? null : (
        <Button small onClick={onDelete} label={`Delete ${recipient}`}>
          Delete
        </Button>
      )}
    </>
  )
}

interface OfferedAct {
  readonly act: QueueAct
  readonly text: string
  /** The text for screen readers. The recipient follows it. */
  readonly label: string
}

const retry = { act: 'retry', text: 'Try now', label: 'Try now:' } as const
const hold = { act: 'hold', text: 'Hold', label: 'Hold' } as const
const release = { act: 'release', text: 'Release', label: 'Release' } as const
/** When the rule ends, the entry stays held. */
const holdLonger = { act: 'hold', text: 'Hold by hand', label: 'Hold by hand:' } as const

function listActs({ status, reason }: QueueEntry): readonly OfferedAct[] {
  if (status === 'sending' || reason === 'paused-broadcast') return []
  if (reason === 'hold-rule') return [holdLonger]
  return [retry, status === 'held' ? release : hold]
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

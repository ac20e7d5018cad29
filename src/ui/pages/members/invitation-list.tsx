/** The pending invitations, which the user can cancel. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import { mayAdminister } from '../../api/session-state.ts'
import { type ListPage, loadOffsetPage, usePages } from '../../api/use-pages.ts'
import { allowBreaks } from '../../components/allow-breaks.tsx'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { Empty } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { type Column, PagedTable } from '../../components/table.tsx'
import { StatusBadge, Time } from '../../components/values.tsx'
import { currentWorkspaceId, type Invitation } from './member.ts'

/** The list is loaded again when `changes` changes. */
export function InvitationList({ changes }: { readonly changes: number }): VNode {
  const invitations = usePages(loadInvitations, [changes])
  const [cancelling, setCancelling] = useState<Invitation | null>(null)
  return (
    <>
      <PagedTable
        caption="Pending invitations"
        pages={invitations}
        columns={mayAdminister.value ? [...columns, buildActions(setCancelling)] : columns}
        rowKey={({ id }) => id}
        empty={
          <Empty title="No pending invitation">
            <p>Whom you invite is listed here until they accept.</p>
          </Empty>
        }
      />
      {cancelling === null ? null : (
        <CancelDialog invitation={cancelling} onCancelled={invitations.reload} onClose={() => setCancelling(null)} />
      )}
    </>
  )
}

const columns: readonly Column<Invitation>[] = [
  { title: 'Address', show: ({ email }) => email },
  { title: 'Role', show: ({ role }) => <StatusBadge status={role} tone={role === 'member' ? 'neutral' : 'info'} /> },
  {
    title: 'Invited by',
    show: ({ invited_by: { full_name: name, email } }) => (
      <span title={email}>{name === '' ? allowBreaks(email) : name}</span>
    ),
  },
  { title: 'Sent', show: ({ created_at: at }) => <Time at={at} kind="relative" /> },
  { title: 'Valid until', show: ({ expires_at: at }) => <Time at={at} /> },
]

function buildActions(onCancel: (invitation: Invitation) => void): Column<Invitation> {
  return {
    title: 'Actions',
    kind: 'actions',
    show: (invitation) => (
      <Button small onClick={() => onCancel(invitation)} label={`Cancel the invitation of ${invitation.email}`}>
        Cancel
      </Button>
    ),
  }
}

interface CancelDialogProps {
  readonly invitation: Invitation
  readonly onCancelled: () => void
  readonly onClose: () => void
}

function CancelDialog({ invitation: { id, email }, onCancelled, onClose }: CancelDialogProps): VNode {
  const cancel = async (): Promise<void> => {
    const params = { path: { id }, query: { workspaceId: currentWorkspaceId() } }
    await unwrap(api.DELETE('/v1/invitations/{id}', { params }))
    notify(`The invitation of ${email} is cancelled.`)
    onCancelled()
  }
  return (
    <ConfirmDialog
      title="Cancel this invitation?"
      name={email}
      action="Cancel the invitation"
      onConfirm={cancel}
      onClose={onClose}
    >
      <p>The link in the mail to {email} stops working permanently. You can send another invitation.</p>
    </ConfirmDialog>
  )
}

function loadInvitations(position: string | undefined): Promise<ListPage<Invitation>> {
  return loadOffsetPage(position, (range) =>
    unwrap(api.GET('/v1/invitations', { params: { query: { workspaceId: currentWorkspaceId(), ...range } } })),
  )
}

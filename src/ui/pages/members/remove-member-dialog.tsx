/** Removes a member from the workspace. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { sessionInfo } from '../../api/session-state.ts'
import { ConfirmDialog } from '../../components/dialog.tsx'
import { notify } from '../../components/notices.tsx'
import { readSession } from '../../session/sign-in.ts'
import { currentWorkspaceId, type MemberDialogProps, nameMember } from './member.ts'

export function RemoveMemberDialog({ member, onChanged, onClose }: MemberDialogProps): VNode {
  const { id, user } = member
  const isSelf = user.id === sessionInfo.value?.user.id
  const remove = async (): Promise<void> => {
    const params = { path: { id }, query: { workspaceId: currentWorkspaceId() } }
    await unwrap(api.DELETE('/v1/members/{id}', { params }))
    notify(isSelf ? 'You have left the workspace.' : `${nameMember(member)} is removed.`)
    if (isSelf) await readSession()
    else onChanged()
  }
  return (
    <ConfirmDialog
      title={isSelf ? 'Leave this workspace?' : `Remove ${nameMember(member)}?`}
      name={user.email}
      action={isSelf ? 'Leave the workspace' : 'Remove the member'}
      onConfirm={remove}
      onClose={onClose}
    >
      <p>
        Access ends at once: keys of this workspace are revoked permanently, SMTP sessions end, and pending
        invitations that {isSelf ? 'you' : 'they'} sent are cancelled.
      </p>
    </ConfirmDialog>
  )
}

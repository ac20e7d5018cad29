/** The dialogs about one member: change the role, remove the member, and transfer the workspace to the member. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { blameField } from '../../api/blame-field.ts'
import { api, unwrap } from '../../api/client.ts'
import { sessionInfo, workspace } from '../../api/session-state.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog, Dialog, isTyped } from '../../components/dialog.tsx'
import { ChoicesField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readExactText, readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { readSession } from '../../session/sign-in.ts'
import { currentWorkspaceId, type Member, nameMember, readRole, roleOptions } from './member.ts'

/** The properties of each dialog about one member. */
interface MemberDialogProps {
  readonly member: Member
  readonly onChanged: () => void
  readonly onClose: () => void
}

export function RoleDialog({ member, onChanged, onClose }: MemberDialogProps): VNode {
  const { id, role, user } = member
  const change = async (values: FormData): Promise<void> => {
    const body = { workspaceId: currentWorkspaceId(), role: readRole(readText(values, 'role')) }
    await unwrap(api.PATCH('/v1/members/{id}', { params: { path: { id } }, body }))
    notify(`${nameMember(member)} is ${body.role === 'admin' ? 'an admin' : 'a member'} now.`)
    onClose()
    onChanged()
    if (user.id === sessionInfo.value?.user.id) await readSession()
  }
  return (
    <Dialog title={`Change the role of ${nameMember(member)}`} onClose={onClose}>
      <Form onSubmit={change}>
        <ChoicesField name="role" label="Role" options={roleOptions} chosen={[role]} single />
        <p class="field-hint">
          The change takes effect at once, also for keys and open sessions. An admin who becomes a member loses their
          pending invitations.
        </p>
        <FormActions>
          <SubmitButton>Change the role</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

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
        Access ends at once: keys of this workspace are revoked permanently, SMTP sessions end, and pending invitations
        that {isSelf ? 'you' : 'they'} sent are cancelled.
      </p>
    </ConfirmDialog>
  )
}

export function TransferDialog({ member, onChanged, onClose }: MemberDialogProps): VNode {
  const [typed, setTyped] = useState('')
  const name = workspace.value?.name ?? ''
  const transfer = async (values: FormData): Promise<void> => {
    const body = { member_id: member.id, password: readExactText(values, 'password') }
    const path = { id: currentWorkspaceId() }
    await blameField('password', unwrap(api.POST('/v1/workspaces/{id}/transfer', { params: { path }, body })))
    notify(`${nameMember(member)} owns the workspace now.`)
    onClose()
    onChanged()
    await readSession()
  }
  return (
    <Dialog title={`Make ${nameMember(member)} the owner?`} onClose={onClose}>
      <Form onSubmit={transfer}>
        <p>
          The workspace “{name}” will belong to {member.user.email}, who may then delete it. You stay as an admin, and
          only the new owner can give it back.
        </p>
        <TextField name="confirmed_name" label={`Type “${name}” to confirm`} onInput={(value) => setTyped(value)} />
        <TextField name="password" label="Your password" type="password" autoComplete="current-password" />
        <FormActions>
          <SubmitButton tone="danger" disabled={!isTyped(name, typed)}>
            Transfer the workspace
          </SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

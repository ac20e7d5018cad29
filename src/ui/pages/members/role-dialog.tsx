/** Changes the role of a member. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { sessionInfo } from '../../api/session-state.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ChoicesField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { readSession } from '../../session/sign-in.ts'
import { currentWorkspaceId, type MemberDialogProps, nameMember, readRole, roleOptions } from './member.ts'

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

/** Makes another member the owner of the workspace. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { blameField } from '../../api/blame-field.ts'
import { api, unwrap } from '../../api/client.ts'
import { workspace } from '../../api/session-state.ts'
import { Button } from '../../components/button.tsx'
import { Dialog, isTyped } from '../../components/dialog.tsx'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readExactText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { readSession } from '../../session/sign-in.ts'
import { currentWorkspaceId, type MemberDialogProps, nameMember } from './member.ts'

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

/** Invites a person by mail. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { ChoicesField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { currentWorkspaceId, readRole, roleOptions } from './member.ts'

interface InviteDialogProps {
  readonly onInvited: () => void
  readonly onClose: () => void
}

export function InviteDialog({ onInvited, onClose }: InviteDialogProps): VNode {
  const invite = async (values: FormData): Promise<void> => {
    const email = readText(values, 'email')
    const body = { email, role: readRole(readText(values, 'role')), workspaceId: currentWorkspaceId() }
    await unwrap(api.POST('/v1/members', { body }))
    notify(`The invitation of ${email} is sent.`)
    onInvited()
    onClose()
  }
  return (
    <Dialog title="Invite a person" onClose={onClose}>
      <Form onSubmit={invite}>
        <p>They get a mail with a link that works once, for seven days.</p>
        <TextField name="email" label="E-mail address" type="email" />
        <ChoicesField name="role" label="Role" options={roleOptions} chosen={['member']} single />
        <FormActions>
          <SubmitButton>Invite</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

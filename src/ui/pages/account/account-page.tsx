/** The user's own account: name, password, second factor, sessions. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { blameField } from '../../api/blame-field.ts'
import { sessionApi, unwrap } from '../../api/client.ts'
import { sessionInfo } from '../../api/session-state.ts'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readExactText, readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { Page, Section } from '../../components/page.tsx'
import { Facts } from '../../components/values.tsx'
import { NewPasswordFields, readNewPassword } from '../../session/new-password.tsx'
import { beginSession } from '../../session/sign-in.ts'
import { SecondFactorSection } from './second-factor.tsx'
import { SessionsSection } from './sessions.tsx'

export function AccountPage(): VNode {
  const { user, workspaces = [] } = sessionInfo.value ?? {}
  return (
    <Page title="Account">
      <Facts
        facts={[
          { name: 'E-mail address', value: user?.email },
          { name: 'Workspaces', value: workspaces.map(({ name, role }) => `${name} (${role})`).join(', ') || 'None' },
        ]}
      />
      <NameSection name={user?.full_name ?? ''} />
      <PasswordSection />
      <SecondFactorSection enabled={user?.totp_enabled ?? false} codesLeft={user?.recovery_codes_left ?? 0} />
      <SessionsSection />
    </Page>
  )
}

function NameSection({ name }: { readonly name: string }): VNode {
  const change = async (values: FormData): Promise<void> => {
    const body = { full_name: readText(values, 'full_name') }
    beginSession(await unwrap(sessionApi.PATCH('/ui/api/profile', { body })))
    notify('Your name is changed.')
  }
  return (
    <Section title="Name" intro="Members of your workspaces and people whom you invite see it.">
      <Form onSubmit={change}>
        <TextField name="full_name" label="Full name" value={name} autoComplete="name" maxLength={100} />
        <FormActions>
          <SubmitButton tone="plain">Change the name</SubmitButton>
        </FormActions>
      </Form>
    </Section>
  )
}

function PasswordSection(): VNode {
  /** The number of changes. A change empties the fields. */
  const [changes, setChanges] = useState(0)
  const change = async (values: FormData): Promise<void> => {
    const body = {
      current_password: readExactText(values, 'current_password'),
      new_password: readNewPassword(values, 'new_password'),
    }
    await blameField('current_password', unwrap(sessionApi.POST('/ui/api/password', { body })))
    setChanges(changes + 1)
    notify('The password is changed. All other sessions have ended.')
  }
  return (
    <Section title="Password" intro="A new password signs you out in all other browsers.">
      <Form key={changes} onSubmit={change}>
        <TextField name="current_password" label="Current password" type="password" autoComplete="current-password" />
        <NewPasswordFields name="new_password" />
        <FormActions>
          <SubmitButton>Change the password</SubmitButton>
        </FormActions>
      </Form>
    </Section>
  )
}

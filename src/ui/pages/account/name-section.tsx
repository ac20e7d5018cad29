/** The user's own name. */
import type { VNode } from 'preact'
import { sessionApi, unwrap } from '../../api/client.ts'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import { beginSession } from '../../session/sign-in.ts'

export function NameSection({ name }: { readonly name: string }): VNode {
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

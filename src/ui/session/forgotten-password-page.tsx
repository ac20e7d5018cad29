/** Asks for a link by mail that sets a new password. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../api/client.ts'
import { TextField } from '../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../components/form.tsx'
import { readText } from '../components/form-values.ts'
import { FrontPage } from './front-page.tsx'

export function ForgottenPasswordPage(): VNode {
  const [sent, setSent] = useState(false)
  if (sent) {
    return (
      <FrontPage title="Check your mail">
        <p>
          If a user has this address, a link to set a new password is on its way. It is valid for one hour and works
          once.
        </p>
        <Link href="/">Back to sign-in</Link>
      </FrontPage>
    )
  }
  const send = async (values: FormData): Promise<void> => {
    await unwrap(sessionApi.POST('/ui/api/password-links', { body: { email: readText(values, 'email') } }))
    setSent(true)
  }
  return (
    <FrontPage title="Forgotten password">
      <Form onSubmit={send}>
        <TextField
          name="email"
          label="E-mail address"
          type="email"
          autoComplete="username"
          hint="You get a link by mail with which you set a new password."
        />
        <FormActions>
          <SubmitButton>Send the link</SubmitButton>
          <Link href="/">Back to sign-in</Link>
        </FormActions>
      </Form>
    </FrontPage>
  )
}

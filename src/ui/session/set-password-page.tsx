/** Where the links lead that set a password: of the setup, of a new user, of a forgotten password. */
import type { VNode } from 'preact'
import { Link, useLocation, useSearchParams } from 'wouter-preact'
import { sessionApi, unwrap } from '../api/client.ts'
import { Form, FormActions, SubmitButton } from '../components/form.tsx'
import { FrontPage } from './front-page.tsx'
import { NewPasswordFields, readNewPassword } from './new-password.tsx'
import { beginSession } from './sign-in.ts'

export function SetPasswordPage(): VNode {
  const [search] = useSearchParams()
  const [, navigate] = useLocation()
  const token = search.get('token') ?? ''
  if (token === '') {
    return (
      <FrontPage title="The link is incomplete">
        <p>Open the whole link from the mail or the terminal, or ask for a new one.</p>
        <Link href="/forgotten-password">Send a new link</Link>
      </FrontPage>
    )
  }
  const setPassword = async (values: FormData): Promise<void> => {
    const password = readNewPassword(values, 'password')
    const info = await unwrap(sessionApi.POST('/password-links/confirm', { body: { token, password } }))
    // Before the session begins, so that the token does not stay in the address.
    navigate('/', { replace: true })
    beginSession(info)
  }
  return (
    <FrontPage title="Set your password">
      <Form onSubmit={setPassword}>
        <NewPasswordFields name="password" />
        <FormActions>
          <SubmitButton>Set the password and sign in</SubmitButton>
        </FormActions>
      </Form>
    </FrontPage>
  )
}

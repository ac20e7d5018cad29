/** The page to which links lead that set a password: after the setup, for a new user, and for a forgotten password. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { sessionApi, unwrap } from '../api/client.ts'
import { Form, FormActions, SubmitButton } from '../components/form.tsx'
import { FrontPage } from './front-page.tsx'
import { NewPasswordFields, readNewPassword } from './new-password.tsx'
import { needsSecondFactor, SecondFactorForm } from './second-factor-form.tsx'
import { beginSession } from './sign-in.ts'

export function SetPasswordPage(): VNode {
  const [token, setToken] = useState(readToken)
  useEffect(() => {
    const update = (): void => setToken(readToken())
    window.addEventListener('hashchange', update)
    return () => window.removeEventListener('hashchange', update)
  }, [])
  if (token === '') {
    return (
      <FrontPage title="The link is incomplete">
        <p>Open the whole link from the mail or the terminal, or ask for a new one.</p>
        <Link href="/forgotten-password">Send a new link</Link>
      </FrontPage>
    )
  }
  return <SetPasswordForm token={token} />
}

/** The token follows the `#`. Browsers send that part to no server, so no proxy logs it. */
function readToken(): string {
  return new URLSearchParams(window.location.hash.slice(1)).get('token') ?? ''
}

function SetPasswordForm({ token }: { readonly token: string }): VNode {
  const [, navigate] = useLocation()
  /** The typed password while a code is missing. */
  const [password, setPassword] = useState<string | null>(null)
  const confirm = async (given: string, code?: string): Promise<void> => {
    const body = { token, password: given, ...(code === undefined ? {} : { code }) }
    const info = await unwrap(sessionApi.POST('/ui/api/password-links/confirm', { body }))
    // This comes before the session begins, so that the token does not stay in the address.
    navigate('/', { replace: true })
    beginSession(info)
  }
  if (password !== null) {
    return <SecondFactorForm onCode={(code) => confirm(password, code)} onBack={() => setPassword(null)} />
  }
  const submit = async (values: FormData): Promise<void> => {
    const given = readNewPassword(values, 'password')
    try {
      await confirm(given)
    } catch (error) {
      if (!needsSecondFactor(error)) throw error
      setPassword(given)
    }
  }
  return (
    <FrontPage title="Set your password">
      <Form onSubmit={submit}>
        <NewPasswordFields name="password" />
        <FormActions>
          <SubmitButton>Set the password and sign in</SubmitButton>
        </FormActions>
      </Form>
    </FrontPage>
  )
}

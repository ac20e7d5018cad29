/** The page to which links lead that set a password: after the setup, for a new user, and for a forgotten password. */
import type { VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Link, useLocation } from 'wouter-preact'
import { sessionApi, unwrap } from '../api/client.ts'
import { useLoad } from '../api/use-load.ts'
import { allowBreaks } from '../components/allow-breaks.tsx'
import { Form, FormActions, SubmitButton } from '../components/form.tsx'
import { Loaded } from '../components/loaded.tsx'
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
  return <SetPasswordOfLink key={token} token={token} />
}

/** The token follows the `#`. Browsers send that part to no server, so no proxy logs it. */
function readToken(): string {
  return new URLSearchParams(window.location.hash.slice(1)).get('token') ?? ''
}

/** Says whose password it is before it asks for one. */
function SetPasswordOfLink({ token }: { readonly token: string }): VNode {
  const link = useLoad(() => unwrap(sessionApi.POST('/ui/api/password-links/show', { body: { token } })), [token])
  if (link.error?.status === 404 || link.error?.status === 409) {
    return (
      <FrontPage title="The link does not work">
        <p>{link.error.message}</p>
        <Link href="/forgotten-password">Send a new link</Link>
      </FrontPage>
    )
  }
  if (link.data === undefined) {
    return (
      <FrontPage title="Set your password">
        <Loaded from={link}>{() => null}</Loaded>
      </FrontPage>
    )
  }
  return <SetPasswordForm token={token} email={link.data.email} />
}

interface SetPasswordFormProps {
  readonly token: string
  readonly email: string
}

function SetPasswordForm({ token, email }: SetPasswordFormProps): VNode {
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
        <Owner email={email} />
        <NewPasswordFields name="password" takesFocus />
        <FormActions>
          <SubmitButton>Set the password and sign in</SubmitButton>
        </FormActions>
      </Form>
    </FrontPage>
  )
}

/** Says whose password it is, to people and, in a hidden field, to a password manager. */
function Owner({ email }: { readonly email: string }): VNode {
  return (
    <p>
      Choose the password for the user <strong>{allowBreaks(email)}</strong>. You sign in with this address and the
      password.
      <span class="visually-hidden" aria-hidden="true">
        <input type="email" value={email} autocomplete="username" readOnly tabIndex={-1} />
      </span>
    </p>
  )
}

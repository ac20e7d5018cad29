/** Signs in with email address and password, then with a code if the user has a second factor. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { sessionApi, unwrap } from '../api/client.ts'
import { TextField } from '../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../components/form.tsx'
import { readExactText, readText } from '../components/form-values.ts'
import { Note } from '../components/values.tsx'
import { FrontPage } from './front-page.tsx'
import { needsSecondFactor, SecondFactorForm } from './second-factor-form.tsx'
import { beginSession } from './sign-in.ts'

interface Credentials {
  readonly email: string
  readonly password: string
  readonly code?: string
}

export function SignInPage({ ended }: { readonly ended: boolean }): VNode {
  /** The accepted credentials while a code is missing. */
  const [accepted, setAccepted] = useState<Credentials | null>(null)
  if (accepted !== null) {
    const signInByCode = (code: string): Promise<void> => beginSessionBy({ ...accepted, code })
    return <SecondFactorForm onCode={signInByCode} onBack={() => setAccepted(null)} />
  }
  const signIn = async (values: FormData): Promise<void> => {
    const credentials = { email: readText(values, 'email'), password: readExactText(values, 'password') }
    try {
      await beginSessionBy(credentials)
    } catch (error) {
      if (!needsSecondFactor(error)) throw error
      setAccepted(credentials)
    }
  }
  return (
    <FrontPage title="Sign in">
      {ended ? <Note tone="info">Your session has ended. Sign in again to continue.</Note> : null}
      <Form onSubmit={signIn}>
        <TextField name="email" label="E-mail address" type="email" autoComplete="username" takesFocus />
        <TextField name="password" label="Password" type="password" autoComplete="current-password" />
        <FormActions>
          <SubmitButton>Sign in</SubmitButton>
          <Link href="/forgotten-password">Forgotten password?</Link>
        </FormActions>
      </Form>
    </FrontPage>
  )
}

async function beginSessionBy(body: Credentials): Promise<void> {
  beginSession(await unwrap(sessionApi.POST('/ui/api/session', { body })))
}

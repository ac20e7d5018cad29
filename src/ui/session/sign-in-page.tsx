/** Sign-in by e-mail address and password, then by a code where the user has a second factor. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import { ApiError } from '../api/api-error.ts'
import { sessionApi, unwrap } from '../api/client.ts'
import { TextField } from '../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../components/form.tsx'
import { readExactText, readText } from '../components/form-values.ts'
import { Note } from '../components/values.tsx'
import { FrontPage } from './front-page.tsx'
import { beginSession } from './sign-in.ts'

interface Credentials {
  readonly email: string
  readonly password: string
}

export function SignInPage({ ended }: { readonly ended: boolean }): VNode {
  /** Accepted, but a code is missing. */
  const [accepted, setAccepted] = useState<Credentials | null>(null)
  if (accepted !== null) return <SecondFactor credentials={accepted} onBack={() => setAccepted(null)} />
  const signIn = async (values: FormData): Promise<void> => {
    const credentials = { email: readText(values, 'email'), password: readExactText(values, 'password') }
    try {
      beginSession(await unwrap(sessionApi.POST('/session', { body: credentials })))
    } catch (error) {
      if (!needsSecondFactor(error)) throw error
      setAccepted(credentials)
    }
  }
  return (
    <FrontPage title="Sign in">
      {ended ? <Note tone="info">Your session has ended. Sign in again to continue.</Note> : null}
      <Form onSubmit={signIn}>
        <TextField name="email" label="E-mail address" type="email" autoComplete="username" />
        <TextField name="password" label="Password" type="password" autoComplete="current-password" />
        <FormActions>
          <SubmitButton>Sign in</SubmitButton>
          <Link href="/forgotten-password">Forgotten password?</Link>
        </FormActions>
      </Form>
    </FrontPage>
  )
}

interface SecondFactorProps {
  readonly credentials: Credentials
  readonly onBack: () => void
}

function SecondFactor({ credentials, onBack }: SecondFactorProps): VNode {
  const signIn = async (values: FormData): Promise<void> => {
    const body = { ...credentials, code: readText(values, 'code') }
    beginSession(await unwrap(sessionApi.POST('/session', { body })))
  }
  return (
    <FrontPage title="Second factor">
      <Form onSubmit={signIn}>
        <TextField
          name="code"
          label="Code"
          autoComplete="one-time-code"
          hint="Six digits from your authenticator app, or one of your recovery codes."
        />
        <FormActions>
          <SubmitButton>Sign in</SubmitButton>
          <button type="button" class="button button-quiet" onClick={onBack}>
            Back
          </button>
        </FormActions>
      </Form>
    </FrontPage>
  )
}

function needsSecondFactor(error: unknown): boolean {
  return error instanceof ApiError && error.details['second_factor'] === true
}

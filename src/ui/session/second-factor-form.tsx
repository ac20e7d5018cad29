/** Asks for the code of the second factor. */
import type { VNode } from 'preact'
import { ApiError } from '../api/api-error.ts'
import { Button } from '../components/button.tsx'
import { TextField } from '../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../components/form.tsx'
import { readText } from '../components/form-values.ts'
import { FrontPage } from './front-page.tsx'

interface SecondFactorFormProps {
  readonly onCode: (code: string) => Promise<unknown>
  readonly onBack: () => void
}

export function SecondFactorForm({ onCode, onBack }: SecondFactorFormProps): VNode {
  return (
    <FrontPage title="Second factor">
      <Form onSubmit={(values) => onCode(readText(values, 'code'))}>
        <TextField
          name="code"
          label="Code"
          autoComplete="one-time-code"
          takesFocus
          hint="Six digits from your authenticator app, or one of your recovery codes."
        />
        <FormActions>
          <SubmitButton>Sign in</SubmitButton>
          <Button tone="quiet" onClick={onBack}>
            Back
          </Button>
        </FormActions>
      </Form>
    </FrontPage>
  )
}

/** Tells whether the password or the link was right and only a code is missing. */
export function needsSecondFactor(error: unknown): boolean {
  return error instanceof ApiError && error.details['second_factor'] === true
}

/** The two fields of a new password. */
import type { VNode } from 'preact'
import { toFieldError } from '../api/api-error.ts'
import { TextField } from '../components/fields.tsx'
import { readExactText } from '../components/form-values.ts'

const REPEATED = 'repeated_password'

export function NewPasswordFields({ name }: { readonly name: string }): VNode {
  return (
    <>
      <TextField
        name={name}
        label="New password"
        type="password"
        autoComplete="new-password"
        hint="At least 12 characters. A few words that do not belong together are easy to remember."
      />
      <TextField name={REPEATED} label="Repeat the new password" type="password" autoComplete="new-password" />
    </>
  )
}

/** Throws an ApiError for the second field unless both are equal. */
export function readNewPassword(values: FormData, name: string): string {
  const password = readExactText(values, name)
  if (password === readExactText(values, REPEATED)) return password
  throw toFieldError(REPEATED, 'The two passwords differ.')
}

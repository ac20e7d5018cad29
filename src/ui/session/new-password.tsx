/** The two fields of a new password. */
import type { VNode } from 'preact'
import { ApiError, type FieldError } from '../api/api-error.ts'
import { TextField } from '../components/fields.tsx'
import { readExactText } from '../components/form-values.ts'

const REPEATED = 'repeated_password'

interface NewPasswordProps {
  readonly name: string
  readonly takesFocus?: boolean
}

export function NewPasswordFields({ name, takesFocus = false }: NewPasswordProps): VNode {
  return (
    <>
      <TextField
        name={name}
        label="New password"
        type="password"
        autoComplete="new-password"
        takesFocus={takesFocus}
        hint="At least 12 characters. A few words that do not belong together are easy to remember."
      />
      <TextField name={REPEATED} label="Repeat the new password" type="password" autoComplete="new-password" />
    </>
  )
}

/** The fewest characters of a password. The server has the same rule, and further ones. */
const MIN_LENGTH = 12

function tooShort(field: string): FieldError {
  return { field, message: `Must have at least ${MIN_LENGTH} characters.` }
}

/** Throws an ApiError for the second field unless both are equal. It also names the first one if that is too short. */
export function readNewPassword(values: FormData, name: string): string {
  const password = readExactText(values, name)
  if (password === readExactText(values, REPEATED)) return password
  const fields: readonly FieldError[] = [
    ...([...password].length < MIN_LENGTH ? [tooShort(name)] : []),
    { field: REPEATED, message: 'The two passwords differ.' },
  ]
  throw new ApiError('The new password cannot be used.', { status: 0, code: 'invalid_field', fields })
}

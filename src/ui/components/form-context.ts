/** Tells the fields of a form the errors of the last attempt, and whether it is being sent. */
import { createContext } from 'preact'
import { useContext } from 'preact/hooks'
import type { FieldError } from '../api/api-error.ts'

interface FormState {
  readonly errors: readonly FieldError[]
  readonly busy: boolean
  /** Fields register their names, so that the form shows errors of other fields above itself. */
  readonly register: (name: string) => void
}

export const FormContext = createContext<FormState>({ errors: [], busy: false, register: () => undefined })

export function useFieldError(name: string): string | undefined {
  const { errors, register } = useContext(FormContext)
  register(name)
  return errors.find(({ field }) => belongsTo(field, name))?.message
}

/** `allowed_networks[0]` and `tracking.open` belong to `allowed_networks` and `tracking`. */
export function belongsTo(field: string, name: string): boolean {
  return field === name || field.startsWith(`${name}[`) || field.startsWith(`${name}.`)
}

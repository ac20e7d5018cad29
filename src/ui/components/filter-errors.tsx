/**
 * Shows next to the filter fields what the server said about the filters of a list. Put it around the fields, within
 * `Filters`.
 */
import type { ComponentChildren, VNode } from 'preact'
import { useContext } from 'preact/hooks'
import type { ApiError } from '../api/api-error.ts'
import { FormContext } from './form-context.ts'

interface FilterErrorsProps {
  /** The error of the last load of the list. */
  readonly error: ApiError | null
  readonly children: ComponentChildren
}

export function FilterErrors({ error, children }: FilterErrorsProps): VNode {
  const form = useContext(FormContext)
  const errors = [...form.errors, ...(error?.fields ?? [])]
  return <FormContext.Provider value={{ ...form, errors }}>{children}</FormContext.Provider>
}

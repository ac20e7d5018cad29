/**
 * A form that sends its values by `onSubmit`. If that throws an ApiError, the form shows it next to the fields that
 * it names, and the rest above the form. The first wrong field gets the focus.
 */
import type { ComponentChildren, VNode } from 'preact'
import { useContext, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, asApiError } from '../api/api-error.ts'
import { buttonClass } from './button.tsx'
import { belongsTo, FormContext } from './form-context.ts'

interface FormProps {
  /** The values by the names of the fields: see form-values.ts. */
  readonly onSubmit: (values: FormData) => Promise<unknown>
  readonly children: ComponentChildren
  /** Shows the form in one line, as for a search. */
  readonly inline?: boolean
}

export function Form({ onSubmit, children, inline = false }: FormProps): VNode {
  const [error, setError] = useState<ApiError | null>(null)
  const [busy, setBusy] = useState(false)
  const form = useRef<HTMLFormElement>(null)
  const names = useRef(new Set<string>())
  const submit = (event: SubmitEvent): void => {
    event.preventDefault()
    if (busy || form.current === null) return
    const incomplete = findIncomplete(form.current)
    if (incomplete !== null) {
      setError(incomplete)
      return
    }
    setBusy(true)
    onSubmit(new FormData(form.current, event.submitter))
      .then(
        () => setError(null),
        (thrown: unknown) => setError(nameGaps(asApiError(thrown), form.current)),
      )
      .finally(() => setBusy(false))
  }
  useEffect(() => {
    const find = (selector: string): Element | null | undefined => form.current?.querySelector(selector)
    const target = error === null ? null : (find('[aria-invalid="true"]') ?? find('.form-error'))
    if (target instanceof HTMLElement) target.focus()
  }, [error])
  const register = (name: string): void => void names.current.add(name)
  return (
    <form ref={form} class={inline ? 'form form-inline' : 'form'} noValidate onSubmit={submit}>
      <FormContext.Provider value={{ errors: error?.fields ?? [], busy, register }}>
        {error === null ? null : <FormError error={error} names={names.current} />}
        {children}
      </FormContext.Provider>
    </form>
  )
}

/**
 * Finds fields that the user filled in only in part. The browser gives an empty value for them, so without this
 * check a message would be sent at once and not on the day that was entered. Null means that there are none.
 */
function findIncomplete(form: HTMLFormElement): ApiError | null {
  const fields = [...form.elements]
    .filter((element) => element instanceof HTMLInputElement && element.validity.badInput)
    .map((element) => ({ field: element.getAttribute('name') ?? '', message: explainGap(element) }))
  const [first] = fields
  return first === undefined ? null : new ApiError(first.message, { status: 0, code: 'incomplete', fields })
}

function explainGap(element: Element): string {
  const type = element.getAttribute('type')
  if (type === 'number') return 'Must be a number.'
  return `Complete the date${type === 'date' ? '' : ' and the time'}, or clear the field.`
}

/** Says that a field was left empty, which says more than the rule for its value. */
function nameGaps(error: ApiError, form: HTMLFormElement | null): ApiError {
  const fields = error.fields.map(({ field, message }) => {
    const element = form?.elements.namedItem(field)
    const isEmpty =
      (element instanceof HTMLInputElement || element instanceof HTMLTextAreaElement) && element.validity.valueMissing
    return { field, message: isEmpty ? 'Fill in this field.' : message }
  })
  const { message, status, code, details } = error
  return new ApiError(message, { status, code, details, fields })
}

/** Shows the errors of fields that the form does not have, with the names of the fields. */
function FormError({ error, names }: { readonly error: ApiError; readonly names: ReadonlySet<string> }): VNode {
  const others = error.fields.filter(({ field }) => ![...names].some((name) => belongsTo(field, name)))
  const lines = error.fields.length === 0 ? [error.message] : others.map(({ field, message }) => `${field}: ${message}`)
  return (
    <div class="form-error" role="alert" tabIndex={-1}>
      {lines.length === 0 ? <p>Please correct the marked fields.</p> : lines.map((line) => <p key={line}>{line}</p>)}
    </div>
  )
}

interface SubmitProps {
  readonly children: ComponentChildren
  readonly tone?: 'primary' | 'danger' | 'plain'
  readonly disabled?: boolean
  /** The value of `act` among the values of the form if this button sends it. */
  readonly act?: string
}

export function SubmitButton({ children, tone = 'primary', disabled = false, act }: SubmitProps): VNode {
  const { busy } = useContext(FormContext)
  return (
    <button
      type="submit"
      name={act === undefined ? undefined : 'act'}
      value={act}
      class={buttonClass(tone)}
      disabled={disabled}
      aria-busy={busy}
      aria-disabled={busy}
    >
      {children}
    </button>
  )
}

/** The row of buttons at the end of a form. */
export function FormActions({ children }: { readonly children: ComponentChildren }): VNode {
  return <div class="form-actions">{children}</div>
}

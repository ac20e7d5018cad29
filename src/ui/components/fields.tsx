/** Fields of forms. Each has a label, may have a hint, and shows the error that the server named for it. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { useFieldError } from './form-context.ts'
import { useUniqueId } from './unique-id.ts'

interface FieldProps {
  readonly name: string
  readonly label: string
  readonly hint?: ComponentChildren
}

interface FrameProps extends FieldProps {
  readonly id: string
  readonly error: string | undefined
  readonly optional?: boolean
  readonly children: ComponentChildren
}

function FieldFrame({ id, label, hint, error, optional = false, children }: FrameProps): VNode {
  return (
    <div class="field">
      <label for={id}>
        {label}
        {optional ? <span class="field-optional"> (optional)</span> : null}
      </label>
      {children}
      <FieldNotes id={id} hint={hint} error={error} />
    </div>
  )
}

function FieldNotes({ id, hint, error }: Pick<FrameProps, 'id' | 'hint' | 'error'>): VNode {
  return (
    <>
      {error === undefined ? null : (
        <p class="field-error" id={`${id}-error`}>
          {error}
        </p>
      )}
      {hint === undefined ? null : (
        <p class="field-hint" id={`${id}-hint`}>
          {hint}
        </p>
      )}
    </>
  )
}

interface Described {
  readonly 'aria-describedby': string | undefined
  readonly 'aria-invalid': 'true' | undefined
}

function describe(id: string, hint: ComponentChildren, error: string | undefined): Described {
  const ids = [...(error === undefined ? [] : [`${id}-error`]), ...(hint === undefined ? [] : [`${id}-hint`])]
  return {
    'aria-describedby': ids.length === 0 ? undefined : ids.join(' '),
    'aria-invalid': error === undefined ? undefined : 'true',
  }
}

interface TextFieldProps extends FieldProps {
  readonly type?: 'text' | 'email' | 'password' | 'search' | 'url' | 'number' | 'datetime-local' | 'date'
  readonly value?: string
  readonly optional?: boolean
  readonly placeholder?: string
  readonly autoComplete?: string
  readonly inputMode?: 'text' | 'numeric' | 'email' | 'url'
  readonly maxLength?: number
  /** Takes the focus when it appears. Use it only for the one field of a step. */
  readonly takesFocus?: boolean
  /** Values that the browser offers while the user types. Other values are possible too. */
  readonly suggestions?: readonly string[]
  readonly onInput?: (value: string) => void
}

export function TextField({
  name,
  label,
  hint,
  type = 'text',
  optional,
  value,
  onInput,
  ...rest
}: TextFieldProps): VNode {
  const id = useUniqueId()
  const error = useFieldError(name)
  const input = useRef<HTMLInputElement>(null)
  useEffect(() => {
    if (rest.takesFocus === true) input.current?.focus()
  }, [])
  return (
    <FieldFrame {...{ id, name, label, hint, error }} optional={optional ?? false}>
      <input
        ref={input}
        id={id}
        name={name}
        type={type}
        defaultValue={value ?? ''}
        required={optional !== true}
        autoComplete={rest.autoComplete ?? 'off'}
        spellcheck={false}
        placeholder={rest.placeholder}
        inputMode={rest.inputMode}
        maxLength={rest.maxLength}
        list={rest.suggestions === undefined ? undefined : `${id}-list`}
        onInput={(event) => onInput?.(event.currentTarget.value)}
        {...describe(id, hint, error)}
      />
      {rest.suggestions === undefined ? null : <Suggestions id={`${id}-list`} values={rest.suggestions} />}
    </FieldFrame>
  )
}

function Suggestions({ id, values }: { readonly id: string; readonly values: readonly string[] }): VNode {
  return (
    <datalist id={id}>
      {values.map((text) => (
        <option key={text} value={text} />
      ))}
    </datalist>
  )
}

interface TextAreaProps extends FieldProps {
  readonly value?: string
  readonly optional?: boolean
  readonly rows?: number
  readonly placeholder?: string
  /** A fixed-width font, for code and HTML. */
  readonly mono?: boolean
  readonly onInput?: (value: string) => void
}

export function TextArea(props: TextAreaProps): VNode {
  const { name, label, hint, value = '', optional = false, rows = 4, placeholder, mono = false, onInput } = props
  const id = useUniqueId()
  const error = useFieldError(name)
  return (
    <FieldFrame {...{ id, name, label, hint, error, optional }}>
      <textarea
        id={id}
        name={name}
        rows={rows}
        class={mono ? 'mono' : undefined}
        defaultValue={value}
        required={!optional}
        spellcheck={!mono}
        placeholder={placeholder}
        onInput={(event) => onInput?.(event.currentTarget.value)}
        {...describe(id, hint, error)}
      />
    </FieldFrame>
  )
}

interface Option {
  readonly value: string
  readonly label: string
  readonly hint?: string
}

interface SelectFieldProps extends FieldProps {
  readonly options: readonly Option[]
  readonly value?: string
  readonly onChange?: (value: string) => void
}

export function SelectField({ name, label, hint, options, value, onChange }: SelectFieldProps): VNode {
  const id = useUniqueId()
  const error = useFieldError(name)
  return (
    <FieldFrame {...{ id, name, label, hint, error }}>
      <select
        id={id}
        name={name}
        onChange={(event) => onChange?.(event.currentTarget.value)}
        {...describe(id, hint, error)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value} selected={option.value === value}>
            {option.label}
          </option>
        ))}
      </select>
    </FieldFrame>
  )
}

interface CheckFieldProps extends FieldProps {
  readonly checked?: boolean
  readonly onChange?: (checked: boolean) => void
}

export function CheckField({ name, label, hint, checked = false, onChange }: CheckFieldProps): VNode {
  const id = useUniqueId()
  const error = useFieldError(name)
  return (
    <div class="field field-check">
      <input
        id={id}
        name={name}
        type="checkbox"
        defaultChecked={checked}
        onChange={(event) => onChange?.(event.currentTarget.checked)}
        {...describe(id, hint, error)}
      />
      <label for={id}>{label}</label>
      <FieldNotes id={id} hint={hint} error={error} />
    </div>
  )
}

interface ChoicesFieldProps extends FieldProps {
  readonly options: readonly Option[]
  readonly chosen?: readonly string[]
  /** The user chooses one of the values instead of several. */
  readonly single?: boolean
  /** Gets the value that was chosen, or that is no longer chosen. */
  readonly onChange?: (value: string, isChosen: boolean) => void
}

export function ChoicesField(props: ChoicesFieldProps): VNode {
  const { name, label, hint, options, chosen = [], single = false, onChange } = props
  const id = useUniqueId()
  const error = useFieldError(name)
  return (
    <fieldset class="field field-choices" {...describe(id, hint, error)}>
      <legend>{label}</legend>
      {options.map(({ value, label: text, hint: note }) => (
        <label key={value} class="choice">
          <input
            type={single ? 'radio' : 'checkbox'}
            name={name}
            value={value}
            defaultChecked={chosen.includes(value)}
            onChange={(event) => onChange?.(value, event.currentTarget.checked)}
          />
          <span>
            {text}
            {note === undefined ? null : <span class="choice-hint">{note}</span>}
          </span>
        </label>
      ))}
      <FieldNotes id={id} hint={hint} error={error} />
    </fieldset>
  )
}

interface FileFieldProps extends FieldProps {
  readonly optional?: boolean
  /** The value of the attribute `accept`. */
  readonly accept?: string
}

export function FileField({ name, label, hint, accept, optional = false }: FileFieldProps): VNode {
  const id = useUniqueId()
  const error = useFieldError(name)
  return (
    <FieldFrame {...{ id, name, label, hint, error, optional }}>
      <input id={id} name={name} type="file" accept={accept} {...describe(id, hint, error)} />
    </FieldFrame>
  )
}

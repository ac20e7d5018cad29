/**
 * The metadata of a contact as fields: a name and a value in each row. A value is a text, or JSON for numbers, lists and
 * other values, so that a save changes the type of none. A name or a value that was not edited stays as it is stored, with
 * spaces and line ends, which a field would drop.
 */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { toFieldError } from '../../api/api-error.ts'
import { Button } from '../../components/button.tsx'
import { useFieldError } from '../../components/form-context.ts'
import { readChoices } from '../../components/form-values.ts'
import { useUniqueId } from '../../components/unique-id.ts'
import type { Contact } from './audience.ts'
import './audiences.css'

type Metadata = Contact['metadata']
type Kind = 'text' | 'json'

interface Row {
  readonly key: number
  readonly name: string
  readonly kind: Kind
  readonly value: string
  /** Null if the row is a new one. */
  readonly stored: Stored | null
}

type Stored = readonly [name: string, value: unknown]

const names = {
  ...{ name: 'metadata_name', kind: 'metadata_kind', value: 'metadata_value', stored: 'metadata_stored' },
} as const

const hint =
  'A broadcast uses the value with the name plan as {{metadata.plan}}. ' +
  'JSON is for numbers, true and false, lists and objects, such as 5 or ["a", "b"].'

export function MetadataFields({ metadata = {} }: { readonly metadata?: Metadata | undefined }): VNode {
  const [rows, setRows] = useState(() => toRows(metadata))
  const id = useUniqueId()
  const error = useFieldError('metadata')
  const list = useRef<HTMLDivElement>(null)
  const add = (): void => {
    const key = Math.max(-1, ...rows.map((row) => row.key)) + 1
    setRows([...rows, { key, name: '', kind: 'text', value: '', stored: null }])
    // The new row is there after the next frame.
    requestAnimationFrame(() =>
      list.current?.querySelector<HTMLElement>('.metadata-row:last-child input:not([type="hidden"])')?.focus(),
    )
  }
  return (
    <fieldset class="field metadata" tabIndex={-1} aria-describedby={`${id}-hint`} aria-invalid={error !== undefined}>
      <legend>
        Metadata<span class="field-optional"> (optional)</span>
      </legend>
      {error === undefined ? null : <p class="field-error">{error}</p>}
      <div class="metadata-rows" ref={list}>
        {rows.map((row, at) => (
          <MetadataRow
            key={row.key}
            row={row}
            number={at + 1}
            onRemove={() => setRows(rows.filter(({ key }) => key !== row.key))}
          />
        ))}
      </div>
      <Button small onClick={add}>
        Add a value
      </Button>
      <p class="field-hint" id={`${id}-hint`}>
        {hint}
      </p>
    </fieldset>
  )
}

interface RowProps {
  readonly row: Row
  readonly number: number
  readonly onRemove: () => void
}

function MetadataRow({ row: { name, kind, value, stored }, number, onRemove }: RowProps): VNode {
  const label = name === '' ? `value ${number}` : name
  return (
    <div class="metadata-row">
      <input type="hidden" name={names.stored} value={stored === null ? '' : JSON.stringify(stored)} />
      <input
        name={names.name}
        aria-label={`Name of value ${number}`}
        placeholder="Name"
        defaultValue={name}
        autoComplete="off"
        spellcheck={false}
      />
      <input
        name={names.value}
        aria-label={`Value of ${label}`}
        placeholder="Value"
        defaultValue={value}
        autoComplete="off"
        spellcheck={false}
      />
      <select name={names.kind} aria-label={`Kind of ${label}`}>
        <option value="text" selected={kind === 'text'}>
          Text
        </option>
        <option value="json" selected={kind === 'json'}>
          JSON
        </option>
      </select>
      <Button small tone="quiet" label={`Remove ${label}`} onClick={onRemove}>
        Remove
      </Button>
    </div>
  )
}

function toRows(metadata: Metadata): readonly Row[] {
  return Object.entries(metadata).map((stored, key) => ({ key, ...toTexts(stored), stored }))
}

/** What the fields of a row have. */
function toTexts([stored, value]: Stored): Pick<Row, 'name' | 'kind' | 'value'> {
  // A field of one line drops the line ends of a text, which JSON keeps.
  const name = stored.replaceAll(/[\r\n]/g, '')
  return typeof value === 'string' && !/[\r\n]/.test(value)
    ? { name, kind: 'text', value }
    : { name, kind: 'json', value: JSON.stringify(value) }
}

/** Throws an ApiError that names the value at fault. A row without a name and a value counts as absent. */
export function readMetadata(values: FormData): Metadata {
  const columns = [names.name, names.kind, names.value, names.stored].map((name) => readChoices(values, name))
  const [given = [], kinds = [], texts = [], stored = []] = columns
  const metadata = new Map<string, unknown>()
  for (const [at, written] of given.entries()) {
    const row = readRow({ name: written, kind: kinds[at] ?? '', value: texts[at] ?? '' }, stored[at] ?? '')
    if (row === null) continue
    const [name, value] = row
    if (metadata.has(name)) throw toFieldError('metadata', `The name “${name}” is there twice. Each name counts once.`)
    metadata.set(name, value)
  }
  return Object.fromEntries(metadata)
}

type Written = Readonly<Record<'name' | 'kind' | 'value', string>>

/** Null if the row is empty. */
function readRow(written: Written, storedText: string): Stored | null {
  const stored: Stored | null = storedText === '' ? null : JSON.parse(storedText)
  const before = stored === null ? null : toTexts(stored)
  const name = stored !== null && before?.name === written.name ? stored[0] : written.name.trim()
  if (stored !== null && before?.kind === written.kind && before.value === written.value) {
    if (name !== '' || written.name === before.name) return [name, stored[1]]
  }
  if (name === '' && written.value === '') return null
  if (name === '') throw toFieldError('metadata', `Give the value “${written.value}” a name, or remove it.`)
  return [name, written.kind === 'json' ? parseValue(name, written.value) : written.value]
}

function parseValue(name: string, text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw toFieldError('metadata', `The value of “${name}” is not JSON. Correct it, or make it a text.`)
  }
}

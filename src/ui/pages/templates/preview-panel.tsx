/** A live preview with fields for values of the variables that were found. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { Loading } from '../../api/use-load.ts'
import { TextField } from '../../components/fields.tsx'
import { Section } from '../../components/page.tsx'
import { type Content, ContentPreview, type Preview, usePreview } from './content-preview.tsx'

/** By the names of variables. */
type Values = Readonly<Record<string, string>>

interface PreviewPanelProps {
  readonly content: Content
  readonly missingNote: string
  /** To begin with. */
  readonly samples?: Values
}

export function PreviewPanel({ content, missingNote, samples = {} }: PreviewPanelProps): VNode {
  const [values, setValues] = useState(samples)
  const preview = usePreview(content, nestValues(values))
  const setValueOf = (name: string, value: string): void => setValues((before) => ({ ...before, [name]: value }))
  return (
    <Section title="Preview">
      <VariableFields preview={preview} samples={samples} onInput={setValueOf} />
      <ContentPreview from={preview} missingNote={missingNote} />
    </Section>
  )
}

/** Fields that are shown; a template may have a thousand variables. */
const MAX_FIELDS = 30

interface VariableFieldsProps {
  readonly preview: Loading<Preview>
  readonly samples: Values
  readonly onInput: (name: string, value: string) => void
}

function VariableFields({ preview: { data }, samples, onInput }: VariableFieldsProps): VNode | null {
  if (data === undefined || data.variables.length === 0) return null
  const { variables } = data
  return (
    <details class="more variable-values" open>
      <summary>Values to try: {variables.length === 1 ? '1 variable' : `${variables.length} variables`}</summary>
      <div class="variable-fields">
        {variables.slice(0, MAX_FIELDS).map((name) => (
          <TextField
            key={name}
            name={`value of ${name}`}
            label={name}
            value={samples[name] ?? ''}
            optional
            onInput={(value) => onInput(name, value)}
          />
        ))}
      </div>
      {variables.length > MAX_FIELDS ? <p>Further variables have no field here.</p> : null}
    </details>
  )
}

/** Empty ones count as missing; `user.name` is a value of the object `user`. */
function nestValues(values: Values): Readonly<Record<string, unknown>> {
  const data: Record<string, unknown> = Object.create(null)
  for (const [name, value] of Object.entries(values)) {
    if (value !== '') setValue(data, name.split('.'), value)
  }
  return data
}

function setValue(data: Record<string, unknown>, path: readonly string[], value: string): void {
  const [word = '', ...rest] = path
  if (rest.length === 0) {
    data[word] = value
    return
  }
  const inner = data[word]
  const next: Record<string, unknown> = Object.assign(Object.create(null), isObject(inner) ? inner : {})
  data[word] = next
  setValue(next, rest, value)
}

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}

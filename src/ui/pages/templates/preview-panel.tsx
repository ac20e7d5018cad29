/** A live preview, with fields for values of the variables that it found. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { Link } from 'wouter-preact'
import type { Loading } from '../../api/use-load.ts'
import { TextField } from '../../components/fields.tsx'
import { Section } from '../../components/page.tsx'
import { type Content, ContentPreview, type Preview, usePreview } from './content-preview.tsx'
import { nestValues, type Texts } from './nest-values.ts'

interface PreviewPanelProps {
  readonly content: Content
  readonly missingNote: string
  /** The first values. */
  readonly samples?: Texts
  /** True for broadcasts: a mail without a link to unsubscribe gets a footer with one. */
  readonly hasFooter?: boolean
}

export function PreviewPanel({ content, missingNote, samples = {}, hasFooter = false }: PreviewPanelProps): VNode {
  const [values, setValues] = useState(samples)
  const preview = usePreview(content, nestValues(values), hasFooter)
  const setValueOf = (name: string, value: string): void => setValues((before) => ({ ...before, [name]: value }))
  return (
    <Section title="Preview">
      <VariableFields preview={preview} samples={samples} onInput={setValueOf} />
      <ContentPreview from={preview} missingNote={missingNote} />
      {hasFooter ? (
        <p class="soft">
          The language and the postal address of the footer are <Link href="/workspace">settings of the workspace</Link>
          .
        </p>
      ) : null}
    </Section>
  )
}

/** Fields that the panel shows. A template may have a thousand variables. */
const MAX_FIELDS = 30

interface VariableFieldsProps {
  readonly preview: Loading<Preview>
  readonly samples: Texts
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
      {variables.length > MAX_FIELDS ? <p>There are no fields for further variables.</p> : null}
    </details>
  )
}

/** The fields in which the user says how the file is laid out, if the server has not found it right. */
import type { VNode } from 'preact'
import { SelectField } from '../../components/fields.tsx'
import { Form } from '../../components/form.tsx'
import { encodingOptions } from '../../components/text-encodings.ts'
import type { Choices, Preview } from './import-file.ts'

interface LayoutFieldsProps {
  readonly preview: Preview
  readonly choices: Choices
  readonly onChange: (choices: Choices) => void
}

const delimiters = [
  { value: 'comma', label: 'Comma' },
  { value: 'semicolon', label: 'Semicolon' },
  { value: 'tab', label: 'Tab' },
  { value: 'pipe', label: 'Vertical bar' },
] as const

/** Another encoding, separator or header makes other columns, and so their fields are found again. */
export function LayoutFields({
  preview: { delimiter, header, encoding },
  choices,
  onChange,
}: LayoutFieldsProps): VNode {
  const chooseDelimiter = (value: string): void => {
    const chosen = delimiters.find((one) => one.value === value)
    if (chosen !== undefined) onChange({ ...choices, fields: null, header: null, delimiter: chosen.value })
  }
  const chooseHeader = (value: string): void => onChange({ ...choices, fields: null, header: value === 'names' })
  return (
    <div class="import-layout">
      <Form inline onSubmit={async () => undefined}>
        <EncodingField {...{ encoding, choices, onChange }} />
        <SelectField
          key={`delimiter ${delimiter}`}
          name="delimiter"
          label="Between cells"
          value={delimiter}
          options={delimiters}
          onChange={chooseDelimiter}
        />
        <SelectField
          key={`header ${header}`}
          name="header"
          label="The first line"
          value={header ? 'names' : 'contact'}
          options={[
            { value: 'names', label: 'has the names of the columns' },
            { value: 'contact', label: 'is a contact already' },
          ]}
          onChange={chooseHeader}
        />
      </Form>
    </div>
  )
}

interface EncodingFieldProps extends Omit<LayoutFieldsProps, 'preview'> {
  readonly encoding: Preview['encoding']
}

function EncodingField({ encoding, choices, onChange }: EncodingFieldProps): VNode {
  const choose = (value: string): void => {
    const chosen = encodingOptions.find((one) => one.value === value)
    if (chosen !== undefined) {
      onChange({ ...choices, fields: null, header: null, delimiter: null, encoding: chosen.value })
    }
  }
  return (
    <SelectField
      key={`encoding ${encoding}`}
      name="encoding"
      label="Encoding of the file"
      value={encoding}
      options={encodingOptions}
      onChange={choose}
    />
  )
}

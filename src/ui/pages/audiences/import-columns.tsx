/** The columns of a file with their first values, and for each a field in which the user says what it becomes. */
import type { VNode } from 'preact'
import { useId } from 'preact/hooks'
import './audiences.css'
import { type Preview, UNDECIDED } from './import-file.ts'

interface ImportColumnsProps {
  readonly preview: Preview
  readonly fields: readonly (string | null)[]
  readonly onChange: (fields: readonly (string | null)[]) => void
}

type Column = Preview['columns'][number]

const choices = [
  ['email', 'E-mail address'],
  ['first_name', 'First name'],
  ['last_name', 'Last name'],
  ['subscribed', 'Subscribed: yes or no'],
  ['consent', 'Subscribed: yes, an empty cell means no'],
  ['unsubscribed', 'Unsubscribed: any value but no'],
  ['state', 'State of the contact at another service'],
  ['metadata', 'Metadata as JSON'],
] as const

/** Says what a field of the interface is, as the choices of a column do. */
export function labelField(field: string): string {
  const known = choices.find(([name]) => name === field)
  return known === undefined ? field.replace(/^metadata\./, '') : known[1]
}

/** What the file calls the column of a field. */
export function titleOf({ columns }: Preview, field: string): string | null | undefined {
  return columns.find((column) => column.field === field)?.title
}

const NOT_IMPORTED = ''

export function ImportColumns({ preview, fields, onChange }: ImportColumnsProps): VNode {
  const { columns } = preview
  return (
    <>
      {columns.length > FITTING ? (
        <p class="field-hint import-wide">The file has {columns.length} columns: the table scrolls sideways.</p>
      ) : null}
      <ColumnTable {...{ preview, fields, onChange }} />
    </>
  )
}

/** Columns that fit on most screens. */
const FITTING = 5

function ColumnTable({ preview: { columns, rows }, fields, onChange }: ImportColumnsProps): VNode {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a part that scrolls must be reachable by keyboard.
    <div class="import-preview" tabIndex={0}>
      <table class="import-table">
        <caption class="visually-hidden">The columns of the file and its first lines</caption>
        <thead>
          <tr>
            <th scope="col" class="import-line">
              Line
            </th>
            {columns.map((column, at) => (
              <th key={`${at} ${column.title}`} scope="col">
                <ColumnField
                  column={column}
                  number={at + 1}
                  samples={rows.flatMap(({ cells }) => cells[at] || []).slice(0, SAMPLES)}
                  field={fields[at] ?? null}
                  onChange={(field) => onChange(columns.map((_, one) => (one === at ? field : (fields[one] ?? null))))}
                />
              </th>
            ))}
          </tr>
        </thead>
        <FirstLines {...{ columns, rows, fields }} />
      </table>
    </div>
  )
}

type FirstLinesProps = Pick<Preview, 'columns' | 'rows'> & Pick<ImportColumnsProps, 'fields'>

function FirstLines({ columns, rows, fields }: FirstLinesProps): VNode {
  return (
    <tbody>
      {rows.map(({ line, cells }) => (
        <tr key={line}>
          <th scope="row" class="import-line">
            {line}
          </th>
          {columns.map((column, at) => (
            <td key={`${at} ${column.title}`} class={(fields[at] ?? null) === null ? 'import-ignored' : undefined}>
              <div class="import-cell">{cells[at] ?? ''}</div>
            </td>
          ))}
        </tr>
      ))}
    </tbody>
  )
}

/** Values that stand below a column on narrow screens, in place of the lines. */
const SAMPLES = 3

interface ColumnFieldProps {
  readonly column: Column
  readonly number: number
  readonly samples: readonly string[]
  readonly field: string | null
  readonly onChange: (field: string | null) => void
}

function ColumnField({ column: { title }, number, samples, field, onChange }: ColumnFieldProps): VNode {
  const id = useId()
  const name = title === null || title === '' ? `Column ${number}` : title
  return (
    <>
      <label for={id}>{name}</label>
      <select
        id={id}
        value={field ?? NOT_IMPORTED}
        aria-invalid={field === UNDECIDED}
        onChange={({ currentTarget: { value } }) => onChange(value === NOT_IMPORTED ? null : value)}
      >
        {field === UNDECIDED ? <option value={UNDECIDED}>Choose what it is</option> : null}
        <option value={NOT_IMPORTED}>Not imported</option>
        {choices.map(([value, label]) => (
          <option key={value} value={value}>
            {label}
          </option>
        ))}
        {listMetadata(name, field).map((value) => (
          <option key={value} value={value}>
            Metadata “{value.slice(METADATA.length)}”
          </option>
        ))}
      </select>
      <p class="import-samples">{samples.join(' · ') || 'No values in the first lines'}</p>
    </>
  )
}

const METADATA = 'metadata.'

/** The metadata under the name of the column, and what the server has suggested. */
function listMetadata(name: string, field: string | null): readonly string[] {
  const own = `${METADATA}${name.replace(/^metadata\./i, '')}`
  return [...new Set(field?.startsWith(METADATA) ? [own, field] : [own])]
}

/** Two steps of an import: choose the file; then see what it has, name its columns, and import it. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { asApiError, toFieldError } from '../../api/api-error.ts'
import { ButtonLink } from '../../components/button.tsx'
import { CheckField, FileField, SelectField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readChoices, readFile, readFlag } from '../../components/form-values.ts'
import { formatNumber } from '../../components/format.ts'
import { HelpLink } from '../../components/help-link.tsx'
import { notify } from '../../components/notices.tsx'
import { Section } from '../../components/page.tsx'
import { Note } from '../../components/values.tsx'
import { ImportColumns } from './import-columns.tsx'
import {
  type Choices,
  type ImportAnswer,
  importFile,
  noChoices,
  type Preview,
  previewFile,
  UNDECIDED,
} from './import-file.ts'
import { HintChoices } from './import-hints.tsx'
import { RefusedLines } from './import-report.tsx'

export type { ImportAnswer }

interface ImportFormProps {
  readonly audienceId: string
  readonly onImported: (answer: ImportAnswer) => void
  readonly backHref: string
}

interface ReadFile {
  readonly file: File
  readonly preview: Preview
  /** They were used for the preview, with the fields that it found. */
  readonly choices: Choices
}

export function ImportForm({ audienceId, onImported, backHref }: ImportFormProps): VNode {
  const { read, isLooking, show, look } = useLook(audienceId)
  if (read === null) return <FileStep backHref={backHref} onChosen={(file) => look(file, noChoices)} />
  const { file, preview } = read
  const submit = async (values: FormData): Promise<void> => {
    if (preview.problem !== null) throw toFieldError('columns', describeProblem(preview, preview.problem))
    const leaveOut = (['role', 'disposable', 'typo'] as const).filter((hint) =>
      readChoices(values, 'leave_out').includes(hint),
    )
    const request = { file, choices: read.choices, leaveOut, resubscribe: readFlag(values, 'resubscribe') }
    onImported(await importFile(audienceId, request))
  }
  const change = (choices: Choices): void => {
    show({ ...read, choices })
    if (choices.fields?.includes(UNDECIDED)) return
    look(file, choices).catch((error: unknown) => notify(asApiError(error).message, 'bad'))
  }
  return <CheckStep {...{ read, isLooking }} onChange={change} onSubmit={submit} onBack={() => show(null)} />
}

interface Look {
  readonly read: ReadFile | null
  /** True until the server has answered what `read` has now. */
  readonly isLooking: boolean
  /** Shows this in place of what a look that is under way would show. */
  readonly show: (read: ReadFile | null) => void
  readonly look: (file: File, choices: Choices) => Promise<void>
}

/** Only the latest look counts. The answer of an earlier one, or its failure, comes too late. */
function useLook(audienceId: string): Look {
  const [read, setRead] = useState<ReadFile | null>(null)
  const [isLooking, setIsLooking] = useState(false)
  const latest = useRef(0)
  const show = (shown: ReadFile | null): void => {
    latest.current += 1
    setIsLooking(false)
    setRead(shown)
  }
  const look = async (file: File, choices: Choices): Promise<void> => {
    latest.current += 1
    const own = latest.current
    setIsLooking(true)
    try {
      const preview = await previewFile(audienceId, file, choices)
      if (own === latest.current) show({ file, preview, choices: toChoices(preview) })
    } catch (error) {
      if (own !== latest.current) return
      setIsLooking(false)
      throw error
    }
  }
  return { read, isLooking, show, look }
}

/** The import reads the file as its preview did, whatever the names of the columns are. */
function toChoices({ columns, header, delimiter }: Preview): Choices {
  return { fields: columns.map(({ field, problem }) => (problem === null ? field : UNDECIDED)), header, delimiter }
}

interface FileStepProps {
  readonly backHref: string
  readonly onChosen: (file: File) => Promise<void>
}

function FileStep({ backHref, onChosen }: FileStepProps): VNode {
  const submit = async (values: FormData): Promise<void> => {
    const file = readFile(values, 'file')
    if (file === null) throw toFieldError('file', 'Choose a file.')
    await onChosen(file)
  }
  return (
    <Form onSubmit={submit}>
      <FileField
        name="file"
        label="CSV file"
        accept=".csv,.txt,.tsv,text/csv"
        hint={
          <>
            Nothing is added yet: the next step shows what the file has. From Excel and other spreadsheet programs, save
            the list as CSV first. <HelpLink topic="audiences#import">What files can have</HelpLink>
          </>
        }
      />
      <FormActions>
        <SubmitButton>Read the file</SubmitButton>
        <ButtonLink href={backHref} tone="quiet">
          Cancel
        </ButtonLink>
      </FormActions>
    </Form>
  )
}

interface CheckStepProps {
  readonly read: ReadFile
  readonly isLooking: boolean
  readonly onChange: (choices: Choices) => void
  readonly onSubmit: (values: FormData) => Promise<void>
  readonly onBack: () => void
}

function CheckStep({ read, isLooking, onChange, onSubmit, onBack }: CheckStepProps): VNode {
  const { file, preview, choices } = read
  const { total, checked, problem } = preview
  return (
    <>
      <Section title={`The file ${file.name}`} intro={describeSize(total, checked)}>
        <LayoutFields preview={preview} choices={choices} onChange={onChange} />
        {problem === null ? null : (
          <Note tone="bad" title="The file cannot be imported like this">
            <p>{describeProblem(preview, problem)}</p>
          </Note>
        )}
        <ImportColumns
          preview={preview}
          fields={choices.fields ?? []}
          onChange={(fields) => onChange({ ...choices, fields })}
        />
      </Section>
      <RefusedLines
        report={preview}
        cure="The import leaves them out. Correct them in the file and read it again, or go on without them."
      />
      <ImportStep {...{ preview, isLooking, onSubmit, onBack }} />
    </>
  )
}

type ImportStepProps = Pick<CheckStepProps, 'isLooking' | 'onSubmit' | 'onBack'> & { readonly preview: Preview }

function ImportStep({ preview, isLooking, onSubmit, onBack }: ImportStepProps): VNode {
  return (
    <Section title="Import">
      <Form onSubmit={onSubmit}>
        <HintChoices preview={preview} />
        <CheckField
          name="resubscribe"
          label="Subscribe contacts that have unsubscribed"
          hint="This applies only to contacts that the file lists as subscribed. Without their consent this is spam."
        />
        <FormActions>
          <SubmitButton disabled={isLooking}>Import the file</SubmitButton>
          <button type="button" class="button button-quiet" onClick={onBack}>
            Choose another file
          </button>
        </FormActions>
      </Form>
    </Section>
  )
}

function describeSize(total: number, checked: number): string {
  const lines = `It has ${formatNumber(total)} ${total === 1 ? 'line' : 'lines'} with contacts.`
  return checked < total && checked > 0 ? `${lines} The first ${formatNumber(checked)} were checked.` : lines
}

/** Says what to do on this page. The message of the server says what to change in the file. */
function describeProblem({ columns }: Preview, problem: string): string {
  const unclear = columns.flatMap(({ title, problem: why }) => (why === null ? [] : [`“${title}”`]))
  if (unclear.length > 0) {
    return `Choose below what ${unclear.join(', ')} is. Its name seems to speak of consent, but its values are not known.`
  }
  if (!columns.some(({ field }) => field === 'email')) return 'Choose below which column has the e-mail address.'
  const text = problem.replace(/^(?:file|columns): /, '')
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`
}

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

/** Another separator or header makes other columns, and so their fields are found again. */
function LayoutFields({ preview: { delimiter, header }, choices, onChange }: LayoutFieldsProps): VNode {
  const chooseDelimiter = (value: string): void => {
    const chosen = delimiters.find((one) => one.value === value)
    if (chosen !== undefined) onChange({ fields: null, header: null, delimiter: chosen.value })
  }
  const chooseHeader = (value: string): void => onChange({ ...choices, fields: null, header: value === 'names' })
  return (
    <div class="import-layout">
      <Form inline onSubmit={async () => undefined}>
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

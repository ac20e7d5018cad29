/** Two steps of an import: choose the file; then see what it has, name its columns, and import it. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { type ApiError, asApiError, toFieldError } from '../../api/api-error.ts'
import { ButtonLink } from '../../components/button.tsx'
import { CheckField, FileField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFile } from '../../components/form-values.ts'
import { HelpLink } from '../../components/help-link.tsx'
import { Fault } from '../../components/loaded.tsx'
import { Section } from '../../components/page.tsx'
import { RefusedLines } from '../../components/refused-lines.tsx'
import { Note } from '../../components/values.tsx'
import { ImportColumns, labelField, titleOf } from './import-columns.tsx'
import {
  type Choices,
  firstChoices,
  type ImportAnswer,
  importFile,
  type Preview,
  previewFile,
  UNDECIDED,
} from './import-file.ts'
import { HintChoices } from './import-hints.tsx'
import { LayoutFields } from './import-layout.tsx'
import { describeFile, explainNothing, ImportSummary } from './import-summary.tsx'

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
  const { read, state, show, look } = useLook(audienceId)
  if (read === null) return <FileStep backHref={backHref} onChosen={(file) => look(file, firstChoices)} />
  const { file, choices } = read
  const lookAgain = (changed: Choices): void => void look(file, changed).catch(() => undefined)
  const change = (changed: Choices): void => {
    show({ ...read, choices: changed })
    if (changed.fields?.includes(UNDECIDED) !== true) lookAgain(changed)
  }
  return (
    <CheckStep
      {...{ read, state }}
      onChange={change}
      onRetry={() => lookAgain(choices)}
      onSubmit={async () => onImported(await importFile(audienceId, file, choices))}
      onBack={() => show(null)}
    />
  )
}

/** Whether the server has answered what the user has chosen now, or why it has not. */
type LookState = 'done' | 'looking' | ApiError

interface Look {
  readonly read: ReadFile | null
  readonly state: LookState
  /** Shows this in place of what a look that is under way would show. */
  readonly show: (read: ReadFile | null) => void
  readonly look: (file: File, choices: Choices) => Promise<void>
}

/** Only the latest look counts. The answer of an earlier one, or its failure, comes too late. */
function useLook(audienceId: string): Look {
  const [read, setRead] = useState<ReadFile | null>(null)
  const [state, setState] = useState<LookState>('done')
  const latest = useRef(0)
  const show = (shown: ReadFile | null): void => {
    latest.current += 1
    setState('done')
    setRead(shown)
  }
  const look = async (file: File, choices: Choices): Promise<void> => {
    latest.current += 1
    const own = latest.current
    setState('looking')
    try {
      const preview = await previewFile(audienceId, file, choices)
      if (own === latest.current) show({ file, preview, choices: settle(choices, preview) })
    } catch (error) {
      if (own !== latest.current) return
      setState(asApiError(error))
      throw error
    }
  }
  return { read, state, show, look }
}

/** The import reads the file as its preview did, whatever the names of the columns are. */
function settle(choices: Choices, { columns, header, delimiter, encoding }: Preview): Choices {
  const fields = columns.map(({ field, problem }) => (problem === null ? field : UNDECIDED))
  return { ...choices, fields, header, delimiter, encoding }
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
  readonly state: LookState
  readonly onChange: (choices: Choices) => void
  readonly onRetry: () => void
  readonly onSubmit: () => Promise<void>
  readonly onBack: () => void
}

function CheckStep(props: CheckStepProps): VNode {
  const { read, onChange } = props
  const { file, preview, choices } = read
  const { problem } = preview
  return (
    <>
      <Section title={`The file ${file.name}`} intro={describeFile(preview)}>
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
        labelOf={(field) => titleOf(preview, field) || labelField(field)}
        cure="The import skips them. Correct them in the file and read it again, or go on without them."
      />
      <ImportStep {...props} />
    </>
  )
}

function ImportStep({ read: { preview, choices }, state, onChange, onRetry, onSubmit, onBack }: CheckStepProps): VNode {
  const nothing = explainNothing(preview)
  const isUndecided = choices.fields?.includes(UNDECIDED) === true
  return (
    <Section title="Import">
      {preview.problem === null ? <ImportSummary preview={preview} /> : null}
      <Form onSubmit={onSubmit}>
        <HintChoices
          {...{ preview, leaveOut: choices.leaveOut }}
          onChange={(leaveOut) => onChange({ ...choices, leaveOut })}
        />
        <CheckField
          name="resubscribe"
          label="Subscribe contacts that have unsubscribed"
          hint="This applies only to contacts that the file lists as subscribed. Without their consent this is spam."
          onChange={(resubscribe) => onChange({ ...choices, resubscribe })}
        />
        {nothing === null ? null : <p class="soft">{nothing}</p>}
        {typeof state === 'string' ? null : <Fault error={state} onRetry={onRetry} />}
        <FormActions>
          <SubmitButton disabled={state !== 'done' || nothing !== null || isUndecided}>Import the file</SubmitButton>
          <button type="button" class="button button-quiet" onClick={onBack}>
            Choose another file
          </button>
        </FormActions>
      </Form>
    </Section>
  )
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

/** Imports the contacts of a CSV file into an audience, and shows the progress and the report. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useSearchParams } from 'wouter-preact'
import { toFieldError } from '../../api/api-error.ts'
import { api, toUpload, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { Button, ButtonLink } from '../../components/button.tsx'
import { CheckField, FileField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFile, readFlag } from '../../components/form-values.ts'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Page, Section } from '../../components/page.tsx'
import type { PageProps } from '../../components/page-route.ts'
import { Progress } from '../../components/progress.tsx'
import { Table } from '../../components/table.tsx'
import { Facts, Note } from '../../components/values.tsx'

type Report = components['schemas']['ContactImportReport']

/** The parameter of the address that has the id of an import which continues after its request. */
const PARAMETER = 'import'

export function ImportPage({ params: { id = '' } }: PageProps): VNode {
  const audience = useLoad(() => unwrap(api.GET('/v1/audiences/{id}', { params: { path: { id } } })), [id])
  const [report, setReport] = useState<Report | null>(null)
  const [search, setSearch] = useSearchParams()
  const importId = search.get(PARAMETER)
  const up = { href: `/audiences/${id}`, label: audience.data?.name ?? 'Audience' }
  const upload = async (values: FormData): Promise<void> => {
    const answer = await uploadFile(id, values)
    if ('data' in answer) setSearch({ [PARAMETER]: answer.data.import_id })
    else setReport(answer)
  }
  const end = {
    backHref: up.href,
    onAnother: () => {
      setReport(null)
      setSearch({})
    },
  }
  return (
    <Page
      title="Import contacts"
      up={up}
      intro="The import updates addresses that the audience already has, and adds new ones."
    >
      <Loaded from={audience}>
        {() =>
          importId !== null ? (
            <RunningImport importId={importId} {...end} />
          ) : report !== null ? (
            <ImportReport report={report} {...end} />
          ) : (
            <FileForm onSubmit={upload} backHref={up.href} />
          )
        }
      </Loaded>
    </Page>
  )
}

/** Resolves to the report, or for a long file to the import that continues. */
async function uploadFile(id: string, values: FormData) {
  const file = readFile(values, 'file')
  if (file === null) throw toFieldError('file', 'Choose a file.')
  const query = { resubscribe: readFlag(values, 'resubscribe') ? ('true' as const) : ('false' as const) }
  const params = { path: { id }, query }
  return unwrap(api.POST('/v1/audiences/{id}/import', { params, ...toUpload(file) }))
}

interface FileFormProps {
  readonly onSubmit: (values: FormData) => Promise<void>
  readonly backHref: string
}

function FileForm({ onSubmit, backHref }: FileFormProps): VNode {
  return (
    <Form onSubmit={onSubmit}>
      <FileField
        name="file"
        label="CSV file"
        accept=".csv,text/csv"
        hint={
          <>
            The first line has the column names. <code>email</code> is required. Posthorn also reads{' '}
            <code>first_name</code>, <code>last_name</code>, <code>subscribed</code> and the consent columns of other
            services. Other columns become metadata.
          </>
        }
      />
      <CheckField
        name="resubscribe"
        label="Subscribe contacts that have unsubscribed"
        hint="This applies only to contacts that the file lists as subscribed. Without their consent this is spam."
      />
      <FormActions>
        <SubmitButton>Import the file</SubmitButton>
        <ButtonLink href={backHref} tone="quiet">
          Cancel
        </ButtonLink>
      </FormActions>
    </Form>
  )
}

interface EndProps {
  readonly onAnother: () => void
  readonly backHref: string
}

/** Milliseconds between two requests for the progress. */
const PAUSE = 1_000

function RunningImport({ importId, ...end }: EndProps & { readonly importId: string }): VNode {
  const load = () => unwrap(api.GET('/v1/imports/{id}', { params: { path: { id: importId } } }))
  const state = useLoad(load, [importId], { every: ({ status }) => (status === 'processing' ? PAUSE : null) })
  return (
    <Loaded from={state}>
      {({ status, rows, done, report, error }) =>
        status === 'processing' ? (
          <Section title="The import is running" intro="It continues if you leave this page.">
            <Progress label="Lines" done={done} total={rows} />
          </Section>
        ) : report !== null && 'updated' in report ? (
          <ImportReport report={report} {...end} />
        ) : (
          <Note tone="bad" title="The import has failed">
            <p>{error?.message ?? 'It ended without a report.'} Lines that were imported before the failure stay.</p>
            <Button onClick={end.onAnother}>Try another file</Button>
          </Note>
        )
      }
    </Loaded>
  )
}

function ImportReport({ report, onAnother, backHref }: EndProps & { readonly report: Report }): VNode {
  const { added, updated, unchanged, still_unsubscribed: left, refused } = report
  return (
    <Section title="The file is imported">
      <Facts
        facts={[
          { name: 'Added', value: formatNumber(added) },
          { name: 'Changed', value: formatNumber(updated) },
          { name: 'Unchanged', value: formatNumber(unchanged) },
          { name: 'Still unsubscribed', value: formatNumber(left) },
          { name: 'Refused lines', value: formatNumber(refused) },
        ]}
      />
      <RefusedLines report={report} />
      <div class="form-actions">
        <ButtonLink href={backHref} tone="primary">
          Open the audience
        </ButtonLink>
        <Button onClick={onAnother}>Import another file</Button>
      </div>
    </Section>
  )
}

function RefusedLines({ report: { refused, refusals } }: { readonly report: Report }): VNode | null {
  if (refused === 0) return null
  const which = refusals.length < refused ? `The first ${refusals.length} of ${formatNumber(refused)}. ` : ''
  return (
    <Section title="Refused lines" intro={`${which}Correct them in the file and import it again.`}>
      <Table
        caption="Refused lines"
        columns={[
          { title: 'Line', show: ({ line }) => line },
          { title: 'Column', show: ({ field }) => field ?? '–' },
          { title: 'Value', show: ({ value }) => value ?? '–' },
          { title: 'Reason', show: ({ reason }) => reason },
        ]}
        rows={refusals}
        rowKey={({ line, field }) => `${line} ${field}`}
      />
    </Section>
  )
}

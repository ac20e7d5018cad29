/** Imports the suppression list of another provider: a short file at once, and a long one in the background. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { useLocation } from 'wouter-preact'
import { toFieldError } from '../../api/api-error.ts'
import { api, toUpload, unwrap } from '../../api/client.ts'
import { ButtonLink } from '../../components/button.tsx'
import { FileField, SelectField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readFile, readText } from '../../components/form-values.ts'
import { Page } from '../../components/page.tsx'
import { ImportReport, type SuppressionImportReport } from './import-report.tsx'
import { findReason, reasonOptions } from './suppression.ts'

export function ImportFormPage(): VNode {
  const [, navigate] = useLocation()
  const [report, setReport] = useState<SuppressionImportReport | null>(null)
  const upload = async (values: FormData): Promise<void> => {
    setReport(null)
    const query = { reason: findReason(readText(values, 'reason')) ?? 'manual' }
    const request = { params: { query }, ...toUpload(requireFile(values)) }
    const answer = await unwrap(api.POST('/v1/suppressions/import', request))
    if ('data' in answer) navigate(`/suppressions/imports/${answer.data.import_id}`)
    else setReport(answer)
  }
  return (
    <Page
      title="Import suppressed addresses"
      intro="Exports of Postmark, SendGrid, Mailgun and Amazon SES are recognized by their columns."
      up={{ href: '/suppressions', label: 'Suppressions' }}
    >
      <Form onSubmit={upload}>
        <FileField
          name="file"
          label="CSV file"
          accept=".csv,text/csv,text/plain"
          hint="The first line has the column names, one of which is email. At most 250,000 lines and 25 MB."
        />
        <SelectField name="reason" label="Reason for lines without one" options={reasonOptions} value="manual" />
        <FormActions>
          <SubmitButton>Import the file</SubmitButton>
          <ButtonLink href="/suppressions" tone="quiet">
            Back to the list
          </ButtonLink>
        </FormActions>
      </Form>
      {report === null ? null : <ImportReport report={report} />}
    </Page>
  )
}

function requireFile(values: FormData): File {
  const file = readFile(values, 'file')
  if (file !== null) return file
  throw toFieldError('file', 'Choose a CSV file.')
}

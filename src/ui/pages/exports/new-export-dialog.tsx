/** Asks for an export. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { readNow } from '../../components/clock.ts'
import { Dialog } from '../../components/dialog.tsx'
import { ChoicesField, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readText } from '../../components/form-values.ts'
import { notify } from '../../components/notices.tsx'
import { readExportType, typeOptions } from './export-type.ts'

interface NewExportProps {
  readonly onRequested: () => void
  readonly onClose: () => void
}

const DAY = 86_400_000

export function NewExportDialog({ onRequested, onClose }: NewExportProps): VNode {
  const today = new Date(readNow()).toISOString().slice(0, 10)
  const monthAgo = new Date(readNow() - 30 * DAY).toISOString().slice(0, 10)
  const request = async (values: FormData): Promise<void> => {
    const domain = readText(values, 'domain')
    const body = {
      type: readExportType(readText(values, 'type')),
      from_date: readText(values, 'from_date'),
      to_date: readText(values, 'to_date'),
      ...(domain === '' ? {} : { domain }),
    }
    await unwrap(api.POST('/v1/exports', { body }))
    notify('The export is being written.')
    onRequested()
    onClose()
  }
  return (
    <Dialog title="Export records" onClose={onClose}>
      <Form onSubmit={request}>
        <ChoicesField name="type" label="Records" options={typeOptions} chosen={['email_logs']} single />
        <TextField name="from_date" label="From" type="date" value={monthAgo} hint="Days begin at 00:00 UTC." />
        <TextField name="to_date" label="To" type="date" value={today} hint="The export includes this whole day." />
        <TextField
          name="domain"
          label="Domain"
          optional
          placeholder="example.com"
          hint="The export has only emails from this domain, or only suppressed addresses in it."
        />
        <FormActions>
          <SubmitButton>Export</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

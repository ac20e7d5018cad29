/** The attachments of an inbound email, which the user can save. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { formatBytes } from '../../components/format.ts'
import { Section } from '../../components/page.tsx'
import { type Column, Table } from '../../components/table.tsx'
import type { EmailPartProps, InboundEmail } from './inbound-email.ts'

type Attachment = InboundEmail['attachments'][number]

export function Attachments({ email: { id, attachments } }: EmailPartProps): VNode | null {
  if (attachments.length === 0) return null
  const save = (attachment: Attachment): Promise<void> => saveAttachment(id, attachment.id)
  return (
    <Section title="Attachments" intro="Open them with care: anyone can send them under any name.">
      <Table caption="Attachments" columns={buildColumns(save)} rows={attachments} rowKey={(one) => one.id} />
    </Section>
  )
}

function buildColumns(save: (attachment: Attachment) => Promise<void>): readonly Column<Attachment>[] {
  return [
    { title: 'Name', show: ({ filename }) => filename },
    { title: 'Type', show: ({ contentType }) => <span class="wide-value">{contentType}</span> },
    { title: 'Size', kind: 'number', show: ({ size }) => <span class="one-line">{formatBytes(size)}</span> },
    {
      title: 'Actions',
      kind: 'actions',
      show: (attachment) => (
        <Button small label={`Save ${attachment.filename}`} onClick={() => save(attachment)}>
          Save
        </Button>
      ),
    },
  ]
}

/**
 * Saves an attachment by a new link, because links expire. This origin answers them too, whatever public address
 * they name.
 */
async function saveAttachment(emailId: string, id: string): Promise<void> {
  const params = { path: { id: emailId } }
  const { data } = await unwrap(api.GET('/v1/inbound/{id}/attachments', { params }))
  const found = data.find((one) => one.id === id)
  if (found === undefined) throw new Error('The attachment is no longer stored.')
  const { pathname, search } = new URL(found.download_url)
  const link = document.createElement('a')
  link.href = `${pathname}${search}`
  link.download = found.filename
  link.click()
}

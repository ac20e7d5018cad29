/** Answers an inbound email. */
import type { VNode } from 'preact'
import { api, unwrap } from '../../api/client.ts'
import { Button } from '../../components/button.tsx'
import { Dialog } from '../../components/dialog.tsx'
import { FileField, TextArea } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readExactText, readFile } from '../../components/form-values.ts'
import { formatDateTime } from '../../components/format.ts'
import { type InboundEmail, titleOf } from './inbound-email.ts'

interface ReplyDialogProps {
  readonly email: InboundEmail
  /** Called with the id of the sent email when the reply is stored. */
  readonly onSent: (emailId: string) => void
  readonly onClose: () => void
}

export function ReplyDialog({ email, onSent, onClose }: ReplyDialogProps): VNode {
  const send = async (values: FormData): Promise<void> => {
    const file = readFile(values, 'attachments')
    const attachments = file === null ? {} : { attachments: [await readAttachedFile(file)] }
    const body = { text: readExactText(values, 'text'), ...attachments }
    const { emailId } = await unwrap(api.POST('/v1/inbound/{id}/reply', { params: { path: { id: email.id } }, body }))
    onSent(emailId)
    onClose()
  }
  return (
    <Dialog title={`Reply to “${titleOf(email)}”`} onClose={onClose} wide>
      <div class="dialog-text">
        <p>
          To {findRecipient(email)}, from {email.envelope_to[0] ?? email.to[0] ?? 'the address that received it'}.
        </p>
      </div>
      <Form onSubmit={send}>
        <TextArea name="text" label="Text" rows={14} value={quote(email)} />
        <FileField name="attachments" label="Attachment" optional />
        <FormActions>
          <SubmitButton>Send the reply</SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

/** Finds the recipient that the server chooses: Reply-To before From. */
function findRecipient({ headers, from }: InboundEmail): string {
  return headers.find(({ name }) => name.toLowerCase() === 'reply-to')?.value ?? from
}

const MAX_QUOTED_LINES = 100
const MAX_QUOTED = 10_000

/** Quotes the beginning of the text below an empty place for the answer. */
function quote({ from, from_name: name, received_at: at, text }: InboundEmail): string {
  if (text === null) return ''
  const lines = text.slice(0, MAX_QUOTED).trimEnd().split(/\r?\n/).slice(0, MAX_QUOTED_LINES)
  return ['', '', `On ${formatDateTime(at)}, ${name || from} wrote:`, ...lines.map((line) => `> ${line}`)].join('\n')
}

interface AttachedFile {
  readonly filename: string
  /** Base64. */
  readonly content: string
  /** It is absent if the browser does not know the type. */
  readonly content_type?: string
}

/** Reads a file of the user as an attachment of the request. */
function readAttachedFile(file: File): Promise<AttachedFile> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader()
    const type = file.type === '' ? {} : { content_type: file.type }
    reader.onload = () => resolve({ filename: file.name, content: contentOf(reader.result), ...type })
    reader.onerror = () => reject(new Error(`${file.name} cannot be read. Choose it again.`))
    reader.readAsDataURL(file)
  })
}

/** The base64 of a `data:` URL. An empty file has none. */
function contentOf(url: FileReader['result']): string {
  return typeof url === 'string' ? (url.split(',', 2)[1] ?? '') : ''
}

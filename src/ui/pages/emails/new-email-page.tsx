/** Sends one email as a test: from a verified domain, with a text, HTML or a template. */
import type { VNode } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { Link, useLocation, useSearchParams } from 'wouter-preact'
import { asApiError } from '../../api/api-error.ts'
import { api, unwrap } from '../../api/client.ts'
import type { components } from '../../api/schema.d.ts'
import { useLoad } from '../../api/use-load.ts'
import { ButtonLink } from '../../components/button.tsx'
import { SelectField, TextArea, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readExactText, readFutureTime, readLines, readText } from '../../components/form-values.ts'
import { Empty, Loaded } from '../../components/loaded.tsx'
import { notify } from '../../components/notices.tsx'
import { Page } from '../../components/page.tsx'
import { DomainField, type FoundDomains, findDomains } from './domain-field.tsx'
import { type FirstValues, loadFirstValues } from './first-values.ts'
import { listSuppressed, SuppressedNote } from './suppressed-note.tsx'
import { readTemplateData, TemplateFields } from './template-fields.tsx'

type EmailRequest = components['schemas']['EmailRequest']
type ContentKind = 'text' | 'html' | 'template'

export function NewEmailPage(): VNode {
  const [search] = useSearchParams()
  const loading = useLoad(async () => {
    const [domains, first] = await Promise.all([findDomains(''), loadFirstValues(search)])
    return { domains, first }
  })
  return (
    <Page
      title="Send an email"
      intro="This sends a test in the same way as your programs send email. It counts towards the limits of the plan."
      up={{ href: '/emails', label: 'Emails' }}
    >
      <Loaded from={loading}>
        {({ domains, first }) =>
          domains.data.length === 0 && !domains.has_more ? <NoDomain /> : <EmailForm {...{ domains, first }} />
        }
      </Loaded>
    </Page>
  )
}

function NoDomain(): VNode {
  return (
    <Empty title="No verified domain yet">
      <p>
        Mail is sent from verified domains. <Link href="/domains">Add or verify one</Link>
      </p>
    </Empty>
  )
}

interface EmailFormProps {
  readonly domains: FoundDomains
  readonly first: FirstValues
}

function EmailForm({ domains, first }: EmailFormProps): VNode {
  const [kind, setKind] = useState<ContentKind>(first.html === null ? 'text' : 'html')
  const [, navigate] = useLocation()
  // Until an answer comes, a further attempt has the same key, so the server does not send twice what it accepted.
  const key = useRef(crypto.randomUUID())
  const [suppressed, setSuppressed] = useState<readonly string[]>([])
  const explainRefusal = (error: unknown): never => {
    const refusal = asApiError(error)
    if (refusal.status !== 0) key.current = crypto.randomUUID()
    setSuppressed(listSuppressed(refusal))
    throw error
  }
  const send = async (values: FormData): Promise<void> => {
    const params = { header: { 'Idempotency-Key': key.current } }
    const sending = unwrap(api.POST('/v1/emails', { params, body: toRequest(values, kind) }))
    const { id } = await sending.catch(explainRefusal)
    notify('The email is accepted.')
    navigate(`/emails/${id}`)
  }
  return (
    <Form onSubmit={send}>
      <SuppressedNote addresses={suppressed} />
      <div class="field-pair">
        <TextField name="from" label="From" value={first.local} hint="The part of the address before the @." />
        <DomainField domains={domains} value={first.domain} />
      </div>
      <TextField name="from_name" label="Name of the sender" optional value={first.name} />
      <TextArea name="to" label="To" rows={2} value={first.to} hint="Enter one address in each line, at most 50." />
      <ContentFields {...{ kind, first }} onKind={setKind} />
      <TextField
        name="scheduled_for"
        label="Send at"
        type="datetime-local"
        optional
        hint="The time is in your time zone and at most 30 days ahead. Leave it empty to send now."
      />
      <SendActions />
    </Form>
  )
}

function SendActions(): VNode {
  return (
    <FormActions>
      <SubmitButton>Send the email</SubmitButton>
      <ButtonLink href="/emails" tone="quiet">
        Cancel
      </ButtonLink>
    </FormActions>
  )
}

interface ContentFieldsProps {
  readonly kind: ContentKind
  readonly first: FirstValues
  readonly onKind: (kind: ContentKind) => void
}

const kinds = [
  { value: 'text', label: 'Text' },
  { value: 'html', label: 'HTML' },
  { value: 'template', label: 'A template' },
] as const

function ContentFields({ kind, first, onKind }: ContentFieldsProps): VNode {
  const choose = (chosen: string): void => onKind(kinds.find(({ value }) => value === chosen)?.value ?? 'text')
  return (
    <>
      <SelectField name="kind" label="Content" options={kinds} value={kind} onChange={choose} />
      {kind === 'template' ? (
        <TemplateFields />
      ) : (
        <TextField name="subject" label="Subject" value={first.subject} maxLength={998} />
      )}
      {kind === 'text' ? (
        <TextArea key="text" name="text" label="Text" rows={8} value={first.text ?? 'This is a test.'} />
      ) : null}
      {kind === 'html' ? (
        <TextArea key="html" name="html" label="HTML" rows={10} mono value={first.html ?? '<p>This is a test.</p>'} />
      ) : null}
    </>
  )
}

function toRequest(values: FormData, kind: ContentKind): EmailRequest {
  const address = `${readText(values, 'from')}@${readText(values, 'domain')}`
  const name = readText(values, 'from_name')
  const scheduledFor = readFutureTime(values, 'scheduled_for')
  const content =
    kind === 'template'
      ? { template_id: readText(values, 'template_id'), template_data: readTemplateData(values) }
      : { subject: readText(values, 'subject'), [kind]: readExactText(values, kind) }
  return {
    from: name === '' ? { address } : { address, name },
    to: readLines(values, 'to'),
    ...content,
    ...(scheduledFor === null ? {} : { scheduled_for: scheduledFor }),
  }
}

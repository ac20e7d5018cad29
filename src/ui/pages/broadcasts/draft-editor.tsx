/** The form of a draft next to its preview. The draft has its own content, or that of a template. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { SelectField, TextArea, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { readExactText, readLines, readText } from '../../components/form-values.ts'
import { formatNumber } from '../../components/format.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Note } from '../../components/values.tsx'
import type { Content } from '../templates/content-preview.tsx'
import { PreviewPanel } from '../templates/preview-panel.tsx'
import type { Broadcast, DraftChoices } from './broadcast.ts'

interface DraftEditorProps {
  readonly choices: DraftChoices
  /** Without it, the form is for a new draft. */
  readonly draft?: Broadcast
  readonly onSubmit: (values: FormData) => Promise<void>
}

const samples = { email: 'ann@example.com', first_name: 'Ann', last_name: 'Lee' }
const missingNote = 'Contacts without a value get an empty text. Give a default, such as {{first_name|you}}.'

export function DraftEditor({ choices, draft, onSubmit }: DraftEditorProps): VNode {
  const [templateId, setTemplateId] = useState(draft?.template_id ?? '')
  const { subject, html, text } = draft ?? {}
  const [content, setContent] = useState<Content>({ subject: subject ?? '', html: html ?? '', text: text ?? '' })
  return (
    <div class="editor">
      <Form onSubmit={onSubmit}>
        <AddressFields choices={choices} draft={draft} />
        <SelectField
          name="template_id"
          label="Content"
          options={[
            { value: '', label: 'Write it here' },
            ...choices.templates.map(({ id, name }) => ({ value: id, label: `Template: ${name}` })),
          ]}
          value={templateId}
          onChange={setTemplateId}
          hint="The broadcast uses the template as it is at the time of sending."
        />
        {templateId === '' ? (
          <ContentFields
            content={content}
            onChange={(field, value) => setContent((before) => ({ ...before, [field]: value }))}
          />
        ) : null}
        <FormActions>
          <SubmitButton>Save the draft</SubmitButton>
        </FormActions>
      </Form>
      <div class="editor-preview">
        {templateId === '' ? (
          <PreviewPanel content={content} missingNote={missingNote} samples={samples} />
        ) : (
          <TemplatePreview key={templateId} id={templateId} />
        )}
      </div>
    </div>
  )
}

function AddressFields({
  choices,
  draft,
}: Pick<DraftEditorProps, 'choices'> & { readonly draft: Broadcast | undefined }): VNode {
  const { audiences, domains } = choices
  return (
    <>
      <TextField name="name" label="Name" value={draft?.name ?? ''} maxLength={255} hint="Recipients do not see it." />
      <SelectField
        name="audience_id"
        label="Audience"
        options={audiences.map(({ id, name, contacts_count: count }) => ({
          value: id,
          label: `${name} (${formatNumber(count)} ${count === 1 ? 'contact' : 'contacts'})`,
        }))}
        value={draft?.audience_id ?? ''}
      />
      {domains.length === 0 ? (
        <Note tone="warn" title="No domain is verified">
          <p>You can save a draft, but you cannot send it until the domain of its sender is verified.</p>
        </Note>
      ) : null}
      <TextField
        name="from"
        label="From"
        value={draft?.from ?? ''}
        placeholder={`News <news@${domains[0] ?? 'example.com'}>`}
        hint={domains.length === 0 ? undefined : `Verified domains: ${domains.slice(0, 10).join(', ')}.`}
      />
      <TextArea
        name="reply_to"
        label="Reply to"
        value={draft?.reply_to.join('\n') ?? ''}
        optional
        rows={1}
        hint="Replies go to these addresses instead of the sender. Enter one address per line."
      />
    </>
  )
}

interface ContentFieldsProps {
  readonly content: Content
  readonly onChange: (field: keyof Content, value: string) => void
}

function ContentFields({ content: { subject, html, text }, onChange }: ContentFieldsProps): VNode {
  return (
    <>
      <TextField name="subject" label="Subject" value={subject} onInput={(value) => onChange('subject', value)} />
      <TextArea
        name="html"
        label="HTML"
        value={html}
        rows={14}
        mono
        optional
        onInput={(value) => onChange('html', value)}
        hint={
          <>
            Variables: <code>{'{{email}}'}</code>, <code>{'{{first_name|you}}'}</code>, <code>{'{{last_name}}'}</code>,{' '}
            <code>{'{{metadata.plan}}'}</code>, <code>{'{{unsubscribe_url}}'}</code>. Without the last one, Posthorn
            appends a link to unsubscribe.
          </>
        }
      />
      <TextArea
        name="text"
        label="Text"
        value={text}
        rows={7}
        mono
        optional
        onInput={(value) => onChange('text', value)}
        hint="If it is empty, Posthorn makes the text from the HTML."
      />
    </>
  )
}

function TemplatePreview({ id }: { readonly id: string }): VNode {
  const template = useLoad(() => unwrap(api.GET('/v1/templates/{id}', { params: { path: { id } } })), [id])
  return (
    <Loaded from={template}>
      {({ subject, html, text }) => (
        <PreviewPanel
          content={{ subject, html: html ?? '', text: text ?? '' }}
          missingNote={missingNote}
          samples={samples}
        />
      )}
    </Loaded>
  )
}

interface DraftValues {
  name: string
  audience_id: string
  from: string
  reply_to: string[]
  subject: string
  html: string
  text: string
  template_id: string | null
}

export function readDraft(values: FormData): DraftValues {
  return {
    name: readText(values, 'name'),
    audience_id: readText(values, 'audience_id'),
    from: readText(values, 'from'),
    reply_to: readLines(values, 'reply_to'),
    subject: readText(values, 'subject'),
    html: readExactText(values, 'html'),
    text: readExactText(values, 'text'),
    template_id: readText(values, 'template_id') || null,
  }
}

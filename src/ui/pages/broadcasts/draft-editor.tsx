/**
 * The form of a draft next to its preview. The draft has its own content, or that of a template. It saves by itself
 * when it is complete.
 */
import type { RefObject, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api, unwrap } from '../../api/client.ts'
import { useLoad } from '../../api/use-load.ts'
import { Outside } from '../../components/editor/outside.tsx'
import { SelectField, TextArea, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { formatNumber } from '../../components/format.ts'
import { useLeaveGuard } from '../../components/leave-guard.ts'
import { Loaded } from '../../components/loaded.tsx'
import { Note } from '../../components/values.tsx'
import { ContentFields, type EditedContent, toEdited } from '../templates/content-fields.tsx'
import { PreviewPanel } from '../templates/preview-panel.tsx'
import type { Broadcast, DraftChoices } from './broadcast.ts'
import { DraftSaver, type SaveState } from './draft-saver.ts'
import { readDraft } from './read-draft.ts'
import { SaveNote } from './save-note.tsx'
import { TestDialog } from './test-dialog.tsx'

interface DraftEditorProps {
  readonly choices: DraftChoices
  /** Without it, the form is for a new draft. */
  readonly draft?: Broadcast
  /** The audience of a new draft. The first one is chosen if none has this id. */
  readonly audienceId: string
  /** After each save. */
  readonly onSaved: (draft: Broadcast) => void
  /** After the save that the user asked for. */
  readonly onDone: (draft: Broadcast) => void
  readonly onReload: () => void
}

const samples = { email: 'ann@example.com', first_name: 'Ann', last_name: 'Lee' }
const missingNote = 'Contacts without a value get an empty text. Give a default, such as {{first_name|you}}.'
const variables = ['first_name', 'last_name', 'email', 'unsubscribe_url']

export function DraftEditor({ choices, draft, audienceId, onSaved, onDone, onReload }: DraftEditorProps): VNode {
  const [templateId, setTemplateId] = useState(draft?.template_id ?? '')
  const [content, setContent] = useState(toEdited(draft))
  const place = useRef<HTMLDivElement>(null)
  const { saver, state } = useSaver({ draft, place, content, onSaved })
  const change = (changed: Partial<EditedContent>): void => {
    saver.touch()
    setContent((before) => ({ ...before, ...changed }))
  }
  const [tested, setTested] = useState<string | null>(null)
  // A test is of what is stored.
  const submit = async (values: FormData): Promise<void> => {
    const saved = await saver.save()
    if (values.get('act') === 'test') setTested(saved.id)
    else onDone(saved)
  }
  return (
    <div class="editor" ref={place}>
      <div class="draft-form" onInput={() => saver.touch()}>
        <Form onSubmit={submit}>
          <AddressFields {...{ choices, draft, audienceId }} />
          <TemplateField choices={choices} templateId={templateId} onChange={setTemplateId} />
          {templateId === '' ? (
            <ContentFields {...{ content, variables }} htmlHint={<HtmlHint />} onChange={change} />
          ) : null}
          <SaveButtons />
          <SaveNote state={state} onReload={onReload} onOverwrite={() => saver.save(true)} />
        </Form>
        <Outside>{tested === null ? null : <TestDialog id={tested} onClose={() => setTested(null)} />}</Outside>
      </div>
      <div class="editor-preview">
        {templateId === '' ? (
          <PreviewPanel {...{ content, missingNote, samples }} hasFooter />
        ) : (
          <TemplatePreview key={templateId} id={templateId} />
        )}
      </div>
    </div>
  )
}

function SaveButtons(): VNode {
  return (
    <>
      <FormActions>
        <SubmitButton>Save the draft</SubmitButton>
        <SubmitButton tone="plain" act="test">
          Save and send a test
        </SubmitButton>
      </FormActions>
      <p class="field-hint">Nothing is sent to the audience yet. “Save the draft” leads to the page with “Send”.</p>
    </>
  )
}

interface SaverProps extends Pick<DraftEditorProps, 'onSaved'> {
  readonly draft: Broadcast | undefined
  readonly place: RefObject<HTMLDivElement>
  readonly content: EditedContent
}

/** The saver reads what the form and the editor have when it saves. */
function useSaver({ draft, place, content, onSaved }: SaverProps): { saver: DraftSaver; state: SaveState } {
  const [state, setState] = useState<SaveState>({ kind: 'unchanged' })
  const guard = useLeaveGuard()
  const latest = useRef({ content, onSaved })
  latest.current = { content, onSaved }
  const made = useRef<DraftSaver | null>(null)
  made.current ??= new DraftSaver(draft ?? null, {
    guard,
    onState: setState,
    onSaved: (saved) => latest.current.onSaved(saved),
    read: () => readDraft(new FormData(place.current?.querySelector('form') ?? undefined), latest.current.content),
  })
  const saver = made.current
  useEffect(() => () => saver.stop(), [])
  return { saver, state }
}

interface TemplateFieldProps extends Pick<DraftEditorProps, 'choices'> {
  readonly templateId: string
  readonly onChange: (id: string) => void
}

function TemplateField({ choices, templateId, onChange }: TemplateFieldProps): VNode {
  return (
    <SelectField
      name="template_id"
      label="Content"
      options={[
        { value: '', label: 'Write it here' },
        ...choices.templates.map(({ id, name }) => ({ value: id, label: `Template: ${name}` })),
      ]}
      value={templateId}
      onChange={onChange}
      hint={templateId === '' ? undefined : 'The broadcast uses the template as it is at the time of sending.'}
    />
  )
}

function AddressFields({
  choices,
  draft,
  audienceId,
}: Pick<DraftEditorProps, 'choices' | 'audienceId'> & { readonly draft: Broadcast | undefined }): VNode {
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
        value={draft?.audience_id ?? audienceId}
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

function HtmlHint(): VNode {
  return (
    <>
      Variables: <code>{'{{email}}'}</code>, <code>{'{{first_name|you}}'}</code>, <code>{'{{last_name}}'}</code>,{' '}
      <code>{'{{metadata.plan}}'}</code>, <code>{'{{unsubscribe_url}}'}</code>. Without the last one, Posthorn appends a
      link to unsubscribe.
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
          hasFooter
        />
      )}
    </Loaded>
  )
}

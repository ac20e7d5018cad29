/** The fields of what a mail says: its subject, its body in blocks or in HTML, and its text. */
import type { ComponentChildren, VNode } from 'preact'
import { useState } from 'preact/hooks'
import { sessionApi, unwrap } from '../../api/client.ts'
import { loadCode } from '../../api/load-code.ts'
import { Button } from '../../components/button.tsx'
import { ConfirmDialog } from '../../components/dialog.tsx'
import type { MailDocument } from '../../components/editor/mail-document.ts'
import { MailEditor } from '../../components/editor/mail-editor.tsx'
import { Outside } from '../../components/editor/outside.tsx'
import { TextArea, TextField } from '../../components/fields.tsx'
import { useFieldError } from '../../components/form-context.ts'
import type { Content } from './content-preview.tsx'

export interface EditedContent extends Content {
  readonly source: 'blocks' | 'html'
  readonly blocks: MailDocument | null
}

interface StoredContent {
  readonly subject: string | null
  readonly html: string | null
  readonly text: string | null
  readonly blocks: MailDocument | null
}

/** A new mail is written in blocks. One with HTML that was written stays in HTML. */
export function toEdited(stored: StoredContent | undefined): EditedContent {
  const { subject, html, text, blocks } = stored ?? {}
  const source = blocks === null && html ? 'html' : 'blocks'
  return { subject: subject ?? '', html: html ?? '', text: text ?? '', blocks: blocks ?? null, source }
}

interface ContentFieldsProps {
  readonly content: EditedContent
  readonly variables: readonly string[]
  readonly htmlHint: ComponentChildren
  readonly onChange: (change: Partial<EditedContent>) => void
}

export function ContentFields({ content, variables, htmlHint, onChange }: ContentFieldsProps): VNode {
  return (
    <>
      <TextField name="subject" label="Subject" value={content.subject} onInput={(subject) => onChange({ subject })} />
      <BodyFields {...{ content, variables, htmlHint, onChange }} />
      <details class="more" open={content.text !== ''}>
        <summary>Text for programs that show no HTML</summary>
        <TextArea
          name="text"
          label="Text"
          value={content.text}
          rows={7}
          mono
          optional
          onInput={(text) => onChange({ text })}
          hint="If it is empty, Posthorn makes the text from the mail."
        />
      </details>
    </>
  )
}

function BodyFields({ content, variables, htmlHint, onChange }: ContentFieldsProps): VNode {
  const { source, html, blocks } = content
  return (
    <>
      {source === 'blocks' ? (
        <BlocksField {...{ blocks, variables }} onChange={(changed) => onChange({ blocks: changed })} />
      ) : (
        <TextArea
          name="html"
          label="HTML"
          value={html}
          rows={14}
          mono
          optional
          onInput={(now) => onChange({ html: now })}
          hint={htmlHint}
        />
      )}
      <SourceSwitch content={content} onChange={onChange} />
    </>
  )
}

type SourceSwitchProps = Pick<ContentFieldsProps, 'content' | 'onChange'>

/** Asks before something is lost. A source without content is left at once. */
function SourceSwitch({ content, onChange }: SourceSwitchProps): VNode {
  const [asked, setAsked] = useState<EditedContent['source'] | null>(null)
  const isBlocks = content.source === 'blocks'
  const change = async (): Promise<void> => onChange(isBlocks ? await toHtml(content) : await toBlocks(content))
  const isEmpty = isBlocks ? content.blocks === null : content.html === ''
  const dialog = { onConfirm: change, onClose: () => setAsked(null) }
  return (
    <p class="mail-source">
      <Button small onClick={() => (isEmpty ? change() : setAsked(content.source))}>
        {isBlocks ? 'Write HTML instead' : 'Write in blocks instead'}
      </Button>
      <Outside>
        {asked === 'blocks' ? <HtmlDialog {...dialog} /> : null}
        {asked === 'html' ? <BlocksDialog {...dialog} /> : null}
      </Outside>
    </p>
  )
}

async function toHtml({ blocks }: EditedContent): Promise<Partial<EditedContent>> {
  if (blocks === null) return { source: 'html' }
  const body = { blocks: { ...blocks } }
  const { html } = await unwrap(sessionApi.POST('/ui/api/compiled-blocks', { body }))
  return { source: 'html', html }
}

async function toBlocks({ html, blocks }: EditedContent): Promise<Partial<EditedContent>> {
  if (html === '') return { source: 'blocks', blocks }
  const { readHtml } = await loadCode(() => import('../../components/editor/mail-view.ts'))
  return { source: 'blocks', blocks: readHtml(html) }
}

interface BlocksFieldProps {
  readonly blocks: MailDocument | null
  readonly variables: readonly string[]
  readonly onChange: (blocks: MailDocument | null) => void
}

function BlocksField({ blocks, variables, onChange }: BlocksFieldProps): VNode {
  const error = useFieldError('blocks')
  return (
    <div class="field">
      <span class="field-label">Mail</span>
      {error === undefined ? null : <p class="field-error">{error}</p>}
      <MailEditor document={blocks} label="Mail" variables={variables} onChange={onChange} />
    </div>
  )
}

interface SwitchProps {
  readonly onConfirm: () => Promise<void>
  readonly onClose: () => void
}

function HtmlDialog({ onConfirm, onClose }: SwitchProps): VNode {
  return (
    <ConfirmDialog title="Go on in HTML?" action="Go on in HTML" onConfirm={onConfirm} onClose={onClose}>
      <p>You get the HTML that is made of the blocks, and change it from there. The way back keeps only the words.</p>
    </ConfirmDialog>
  )
}

function BlocksDialog({ onConfirm, onClose }: SwitchProps): VNode {
  return (
    <ConfirmDialog
      title="Take the text over into blocks?"
      action="Take the text over"
      onConfirm={onConfirm}
      onClose={onClose}
    >
      <p>
        Headings, paragraphs, lists, links, images and variables are kept. Everything else is lost: colors, fonts and
        other styles, the layout in tables, forms and comments.
      </p>
    </ConfirmDialog>
  )
}

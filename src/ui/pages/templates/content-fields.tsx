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

type Asked = 'html' | 'blocks' | null

function BodyFields({ content, variables, htmlHint, onChange }: ContentFieldsProps): VNode {
  const [asked, setAsked] = useState<Asked>(null)
  const { source, html, blocks } = content
  const close = (): void => setAsked(null)
  const toHtml = async (): Promise<void> => {
    if (blocks === null) return onChange({ source: 'html' })
    const body = { blocks: { ...blocks } }
    const compiled = await unwrap(sessionApi.POST('/ui/api/compiled-blocks', { body }))
    onChange({ source: 'html', html: compiled.html })
  }
  const toBlocks = async (): Promise<void> => {
    const { readHtml } = await loadCode(() => import('../../components/editor/mail-view.ts'))
    onChange({ source: 'blocks', blocks: html === '' ? blocks : readHtml(html) })
  }
  const askHtml = (): unknown => (blocks === null ? toHtml() : setAsked('html'))
  const askBlocks = (): unknown => (html === '' ? toBlocks() : setAsked('blocks'))
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
      <p class="mail-source">
        {source === 'blocks' ? (
          <Button small onClick={askHtml}>
            Write HTML instead
          </Button>
        ) : (
          <Button small onClick={askBlocks}>
            Write in blocks instead
          </Button>
        )}
      </p>
      <Outside>
        {asked === 'html' ? <HtmlDialog onConfirm={toHtml} onClose={close} /> : null}
        {asked === 'blocks' ? <BlocksDialog onConfirm={toBlocks} onClose={close} /> : null}
      </Outside>
    </>
  )
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

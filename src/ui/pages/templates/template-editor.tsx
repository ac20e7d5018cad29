/** The form of a template next to its preview, with the variables that it found and values to try. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import { TextArea, TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import type { Content } from './content-preview.tsx'
import { PreviewPanel } from './preview-panel.tsx'

interface TemplateEditorProps {
  /** Null means a new template. */
  readonly template: {
    readonly name: string
    readonly subject: string
    readonly html: string | null
    readonly text: string | null
  } | null
  readonly action: string
  readonly onSubmit: (values: FormData) => Promise<void>
}

const missingNote = 'Sending is refused while a variable has neither a value nor a default.'

export function TemplateEditor({ template, action, onSubmit }: TemplateEditorProps): VNode {
  const { name = '', subject = '', html, text } = template ?? {}
  const [content, setContent] = useState<Content>({ subject, html: html ?? '', text: text ?? '' })
  const change = (field: keyof Content) => (value: string) => setContent((before) => ({ ...before, [field]: value }))
  return (
    <div class="editor">
      <Form onSubmit={onSubmit}>
        <TextField name="name" label="Name" value={name} maxLength={100} hint="Recipients do not see it." />
        <TextField name="subject" label="Subject" value={subject} onInput={change('subject')} />
        <TextArea
          name="html"
          label="HTML"
          value={content.html}
          rows={14}
          mono
          optional
          onInput={change('html')}
          hint={<SyntaxHint />}
        />
        <TextArea
          name="text"
          label="Text"
          value={content.text}
          rows={7}
          mono
          optional
          onInput={change('text')}
          hint="Without it, Posthorn makes the text from the HTML."
        />
        <FormActions>
          <SubmitButton>{action}</SubmitButton>
        </FormActions>
      </Form>
      <div class="editor-preview">
        <PreviewPanel content={content} missingNote={missingNote} />
      </div>
    </div>
  )
}

function SyntaxHint(): VNode {
  return (
    <>
      <code>{'{{name}}'}</code> is a variable, <code>{'{{name|text}}'}</code> has a default, and the value of{' '}
      <code>{'{{{name}}}'}</code> is not escaped. <code>{'{{unsubscribe_url}}'}</code> is the link to unsubscribe.
    </>
  )
}

/** The form of a template next to its preview, with the variables that it found and values to try. */
import type { VNode } from 'preact'
import { useState } from 'preact/hooks'
import type { MailDocument } from '../../components/editor/mail-document.ts'
import { TextField } from '../../components/fields.tsx'
import { Form, FormActions, SubmitButton } from '../../components/form.tsx'
import { useLeaveGuard } from '../../components/leave-guard.ts'
import { ContentFields, type EditedContent, toEdited } from './content-fields.tsx'
import { PreviewPanel } from './preview-panel.tsx'

interface TemplateEditorProps {
  /** Null means a new template. */
  readonly template: {
    readonly name: string
    readonly subject: string
    readonly html: string | null
    readonly text: string | null
    readonly blocks: MailDocument | null
    readonly variables: readonly string[]
  } | null
  readonly action: string
  readonly onSubmit: (values: FormData, content: EditedContent) => Promise<void>
}

const missingNote = 'Sending is refused while a variable has neither a value nor a default.'

export function TemplateEditor({ template, action, onSubmit }: TemplateEditorProps): VNode {
  const [content, setContent] = useState(toEdited(template ?? undefined))
  const guard = useLeaveGuard()
  const change = (changed: Partial<EditedContent>): void => {
    guard.set()
    setContent((before) => ({ ...before, ...changed }))
  }
  const submit = async (values: FormData): Promise<void> => {
    const version = guard.begin()
    await onSubmit(values, content)
    guard.clear(version)
  }
  return (
    <div class="editor">
      <Form onSubmit={submit}>
        <TextField
          name="name"
          label="Name"
          value={template?.name ?? ''}
          maxLength={100}
          hint="Recipients do not see it."
          onInput={() => guard.set()}
        />
        <ContentFields
          content={content}
          variables={['first_name', 'last_name', 'email', 'unsubscribe_url', ...(template?.variables ?? [])]}
          htmlHint={<SyntaxHint />}
          onChange={change}
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

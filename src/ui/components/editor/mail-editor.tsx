/** An editor of a mail in blocks. Its code is loaded when it is shown. */
import type { VNode } from 'preact'
import { loadCode } from '../../api/load-code.ts'
import { useLoad } from '../../api/use-load.ts'
import { Fault, Placeholder } from '../loaded.tsx'
import { useUniqueId } from '../unique-id.ts'
import { Note } from '../values.tsx'
import { BlockMenu } from './block-menu.tsx'
import { EditorToolbar } from './editor-toolbar.tsx'
import { NodeDialog } from './node-dialog.tsx'
import { Outside } from './outside.tsx'
import { type MailCode, type MailViewProps, useMailView } from './use-mail-view.ts'
import './editor.css'

interface MailEditorProps extends Omit<MailViewProps, 'code'> {
  /** Names of variables that the dialog offers. */
  readonly variables: readonly string[]
}

export function MailEditor(props: MailEditorProps): VNode {
  const code = useLoad(() => loadCode(() => import('./mail-view.ts')))
  if (code.data !== undefined) return <LoadedEditor {...props} code={code.data} />
  return code.error === null ? <Placeholder /> : <Fault error={code.error} onRetry={code.reload} />
}

function LoadedEditor(props: MailEditorProps & { readonly code: MailCode }): VNode {
  const id = useUniqueId()
  const editor = useMailView(props, `${id}-hint`)
  const { view, facts, menu, form, fault, announced } = editor
  return (
    <div class="mail-editor">
      {fault === null ? null : <Note tone="bad">{fault}</Note>}
      <div class="mail-frame">
        {view === null ? null : (
          <EditorToolbar
            {...{ view, facts, element: editor.toolbar, onMenu: editor.openMenu, onMove: editor.move }}
            onVariable={() => editor.openForm({ kind: 'variable', attrs: null, inserts: true })}
            onLink={() => editor.ask('link')}
            onEdit={() => {
              if (facts.node !== null) editor.ask(facts.node.kind)
            }}
          />
        )}
        <div ref={editor.host} class="mail-paper" />
      </div>
      <EditorHint id={`${id}-hint`} />
      <p class="visually-hidden" role="status">
        {announced}
      </p>
      {menu === null ? null : <BlockMenu place={menu} onChoose={editor.choose} onClose={editor.closeMenu} />}
      <Outside>
        {form === null ? null : (
          <NodeDialog
            {...{ kind: form.kind, attrs: form.attrs, variables: props.variables }}
            asksText={form.kind === 'link' && form.attrs === null && !facts.hasText}
            onDone={editor.apply}
            onUnlink={editor.unlink}
            onClose={editor.closeForm}
          />
        )}
      </Outside>
    </div>
  )
}

function EditorHint({ id }: { readonly id: string }): VNode {
  return (
    <p class="field-hint" id={id}>
      Type <kbd>/</kbd> in an empty line for a block, and <code>{'{{first_name|you}}'}</code> for a variable.{' '}
      <kbd>Alt+↑</kbd> and <kbd>Alt+↓</kbd> move a block, <kbd>Enter</kbd> changes a selected one, <kbd>Alt+F10</kbd>{' '}
      goes to the tool bar, and <kbd>Esc</kbd> back.
    </p>
  )
}

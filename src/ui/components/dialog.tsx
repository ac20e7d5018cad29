/** Dialogs. A dialog for an act that destroys something asks for its name. */
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { Button } from './button.tsx'
import { TextField } from './fields.tsx'
import { Form, FormActions, SubmitButton } from './form.tsx'
import { useUniqueId } from './unique-id.ts'

interface DialogProps {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
  readonly wide?: boolean
}

function focusHeading(): void {
  if (document.activeElement === document.body) document.querySelector('h1')?.focus({ preventScroll: true })
}

/** The dialog is open as long as it is rendered. Escape closes it, and the focus returns to its earlier place, or to the heading of the page. */
export function Dialog({ title, onClose, children, wide = false }: DialogProps): VNode {
  const element = useRef<HTMLDialogElement>(null)
  const id = useUniqueId()
  useEffect(() => {
    const dialog = element.current
    const before = document.activeElement
    dialog?.showModal()
    return () => {
      dialog?.close()
      if (before instanceof HTMLElement) before.focus()
      // The act may have removed that place, such as the button that sends a draft.
      setTimeout(focusHeading)
    }
  }, [])
  const cancel = (event: Event): void => {
    event.preventDefault()
    onClose()
  }
  return (
    <dialog ref={element} class={wide ? 'dialog dialog-wide' : 'dialog'} aria-labelledby={id} onCancel={cancel}>
      <h2 id={id}>{title}</h2>
      {children}
    </dialog>
  )
}

interface ConfirmDialogProps {
  readonly title: string
  /** The user types this name to confirm. Without it, the button is enough. */
  readonly name?: string
  /** The text of the button: `Delete the domain`. */
  readonly action: string
  readonly onConfirm: () => Promise<unknown>
  readonly onClose: () => void
  /** What will happen. */
  readonly children: ComponentChildren
}

/**
 * Tells whether a name was typed. The space around and between its words does not matter, because a label does not
 * show how much there is.
 */
export function isTyped(name: string, typed: string): boolean {
  const simplify = (text: string): string => text.trim().replace(/\s+/g, ' ')
  return simplify(typed) === simplify(name)
}

/** Closes after `onConfirm` has succeeded. If it fails, the dialog shows why. */
export function ConfirmDialog({ title, name, action, onConfirm, onClose, children }: ConfirmDialogProps): VNode {
  const [typed, setTyped] = useState('')
  const submit = async (): Promise<void> => {
    await onConfirm()
    onClose()
  }
  return (
    <Dialog title={title} onClose={onClose}>
      <div class="dialog-text">{children}</div>
      <Form onSubmit={submit}>
        {name === undefined ? null : (
          <TextField name="confirmed_name" label={`Type “${name}” to confirm`} onInput={(value) => setTyped(value)} />
        )}
        <FormActions>
          <SubmitButton tone="danger" disabled={name !== undefined && !isTyped(name, typed)}>
            {action}
          </SubmitButton>
          <Button onClick={onClose}>Cancel</Button>
        </FormActions>
      </Form>
    </Dialog>
  )
}

/**
 * The tool bar of the editor. One of its buttons is in the order of Tab, and the arrow keys move between them (the
 * ARIA pattern of tool bars). Buttons that cannot act now stay reachable, so that the order does not change.
 */
import type { VNode } from 'preact'
import { type MutableRef, useState } from 'preact/hooks'
import type { Align, MailView, MarkName, SelectionFacts } from './mail-document.ts'

interface Tool {
  readonly label: string
  /** What the button shows. Screen readers read the label. */
  readonly sign: string
  readonly look?: string
  readonly isPressed?: boolean
  readonly isDisabled?: boolean
  readonly act: () => void
}

interface ToolbarProps {
  readonly view: MailView
  readonly facts: SelectionFacts
  readonly element: MutableRef<HTMLDivElement | null>
  readonly onMenu: () => void
  readonly onVariable: () => void
  readonly onLink: () => void
  readonly onEdit: () => void
  readonly onMove: (by: -1 | 1) => void
}

const MARKS: readonly { readonly name: MarkName; readonly label: string; readonly sign: string }[] = [
  { name: 'strong', label: 'Bold', sign: 'B' },
  { name: 'em', label: 'Italic', sign: 'I' },
  { name: 'underline', label: 'Underlined', sign: 'U' },
]

const ALIGNS: readonly { readonly align: Align; readonly label: string; readonly sign: string }[] = [
  { align: 'left', label: 'Align left', sign: '⇤' },
  { align: 'center', label: 'Center', sign: '↔' },
  { align: 'right', label: 'Align right', sign: '⇥' },
]

export function EditorToolbar(props: ToolbarProps): VNode {
  const groups = [insertTools(props), textTools(props), markTools(props), alignTools(props), blockTools(props)]
  const tools = groups.flat()
  const [current, setCurrent] = useState(0)
  const move = (event: KeyboardEvent): void => {
    const to = { ArrowRight: current + 1, ArrowLeft: current - 1, Home: 0, End: tools.length - 1 }[event.key]
    if (to === undefined) return
    event.preventDefault()
    const next = (to + tools.length) % tools.length
    setCurrent(next)
    props.element.current?.querySelectorAll('button')[next]?.focus()
  }
  return (
    <div ref={props.element} class="mail-toolbar" role="toolbar" aria-label="Format of the mail" onKeyDown={move}>
      {groups.map((group) => (
        <span key={group[0]?.label} class="mail-tools">
          {group.map((tool) => {
            const at = tools.indexOf(tool)
            return <ToolButton key={tool.label} tool={tool} isCurrent={at === current} onFocus={() => setCurrent(at)} />
          })}
        </span>
      ))}
    </div>
  )
}

interface ToolButtonProps {
  readonly tool: Tool
  readonly isCurrent: boolean
  readonly onFocus: () => void
}

function ToolButton({ tool, isCurrent, onFocus }: ToolButtonProps): VNode {
  const { label, sign, look, isPressed, isDisabled = false, act } = tool
  return (
    <button
      type="button"
      class={look === undefined ? 'mail-tool' : `mail-tool mail-tool-${look}`}
      title={label}
      aria-label={label}
      aria-pressed={isPressed}
      aria-disabled={isDisabled}
      tabIndex={isCurrent ? 0 : -1}
      onFocus={onFocus}
      // The selection in the text stays as it is.
      onMouseDown={(event) => event.preventDefault()}
      onClick={() => {
        if (!isDisabled) act()
      }}
    >
      {sign}
    </button>
  )
}

function insertTools({ onMenu, onVariable }: ToolbarProps): readonly Tool[] {
  return [
    { label: 'Insert a block', sign: '+ Block', look: 'wide', act: onMenu },
    { label: 'Insert a variable', sign: '{ }', look: 'wide', act: onVariable },
  ]
}

function textTools({ view, facts: { block } }: ToolbarProps): readonly Tool[] {
  const heading = (level: 1 | 2 | 3): Tool => ({
    label: `H${level} heading`,
    sign: `H${level}`,
    isPressed: block === `heading${level}`,
    act: () => view.setHeading(level),
  })
  const list = (kind: 'bullet_list' | 'ordered_list', label: string, sign: string): Tool => ({
    label,
    sign,
    isPressed: block === kind,
    act: () => view.toggleList(kind),
  })
  return [
    { label: 'Text', sign: 'T', isPressed: block === 'paragraph', act: () => view.setHeading(null) },
    ...[heading(1), heading(2), heading(3)],
    list('bullet_list', 'List with bullets', '•'),
    list('ordered_list', 'List with numbers', '#'),
  ]
}

function markTools({ view, facts, onLink }: ToolbarProps): readonly Tool[] {
  const marks = MARKS.map(
    ({ name, label, sign }): Tool => ({
      ...{ label, sign, look: name },
      isPressed: facts.marks.includes(name),
      act: () => view.toggleMark(name),
    }),
  )
  return [...marks, { label: 'Link', sign: 'Link', look: 'wide', isPressed: facts.link !== null, act: onLink }]
}

function alignTools({ view, facts }: ToolbarProps): readonly Tool[] {
  return ALIGNS.map(({ align, label, sign }) => ({
    ...{ label, sign },
    isPressed: facts.align === align,
    isDisabled: facts.align === null,
    act: () => view.setAlign(align),
  }))
}

function blockTools({ view, facts, onEdit, onMove }: ToolbarProps): readonly Tool[] {
  return [
    { label: 'Change the selected block', sign: 'Change', look: 'wide', isDisabled: facts.node === null, act: onEdit },
    { label: 'Move the block up', sign: '↑', act: () => onMove(-1) },
    { label: 'Move the block down', sign: '↓', act: () => onMove(1) },
    { label: 'Remove the block', sign: '×', act: view.remove },
    { label: 'Undo', sign: '↶', isDisabled: !facts.canUndo, act: view.undo },
    { label: 'Redo', sign: '↷', isDisabled: !facts.canRedo, act: view.redo },
  ]
}

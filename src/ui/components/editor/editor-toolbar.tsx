/**
 * The tool bar of the editor. One of its buttons is in the order of Tab, and the arrow keys move between them (the
 * ARIA pattern of tool bars). Buttons that cannot act now stay reachable, so that the order does not change. Escape goes
 * back to the text.
 */
import type { VNode } from 'preact'
import { type MutableRef, useState } from 'preact/hooks'
import { Icon, type IconName } from './editor-icons.tsx'
import type { Align, MailView, MarkName, SelectionFacts } from './mail-document.ts'

interface Tool {
  readonly label: string
  /** What the button shows, besides or in place of an icon. Screen readers read the label. */
  readonly sign?: string
  readonly icon?: IconName
  readonly look?: string
  /** The key that does the same, for the hint. */
  readonly keys?: string
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

const MARKS: readonly (Pick<Tool, 'label' | 'sign' | 'keys'> & { readonly name: MarkName })[] = [
  { name: 'strong', label: 'Bold', sign: 'B', keys: 'Ctrl+B' },
  { name: 'em', label: 'Italic', sign: 'I', keys: 'Ctrl+I' },
  { name: 'underline', label: 'Underlined', sign: 'U', keys: 'Ctrl+U' },
]

const ALIGNS: readonly (Pick<Tool, 'label'> & { readonly align: Align })[] = [
  { align: 'left', label: 'Align left' },
  { align: 'center', label: 'Center' },
  { align: 'right', label: 'Align right' },
]

export function EditorToolbar(props: ToolbarProps): VNode {
  const groups = [insertTools(props), textTools(props), markTools(props), alignTools(props), blockTools(props)]
  const tools = groups.flat()
  const [current, setCurrent] = useState(0)
  const move = (event: KeyboardEvent): void => {
    if (event.key === 'Escape') {
      event.preventDefault()
      props.view.focus()
      return
    }
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
  const { label, sign, icon, look, keys, isPressed, isDisabled = false, act } = tool
  return (
    <button
      type="button"
      class={look === undefined ? 'mail-tool' : `mail-tool mail-tool-${look}`}
      title={keys === undefined ? label : `${label} (${keys})`}
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
      {icon === undefined ? null : <Icon name={icon} />}
      {sign}
    </button>
  )
}

function insertTools({ onMenu, onVariable }: ToolbarProps): readonly Tool[] {
  return [
    { label: 'Insert a block', icon: 'plus', sign: 'Block', look: 'wide', keys: '/', act: onMenu },
    { label: 'Insert a variable', icon: 'braces', sign: 'Variable', look: 'wide', act: onVariable },
  ]
}

function textTools({ view, facts: { block } }: ToolbarProps): readonly Tool[] {
  const heading = (level: 1 | 2 | 3): Tool => ({
    label: `H${level} heading`,
    sign: `H${level}`,
    isPressed: block === `heading${level}`,
    act: () => view.setHeading(level),
  })
  const list = (kind: 'bullet_list' | 'ordered_list', label: string, icon: IconName): Tool => ({
    label,
    icon,
    isPressed: block === kind,
    act: () => view.toggleList(kind),
  })
  return [
    { label: 'Text', sign: 'Text', look: 'wide', isPressed: block === 'paragraph', act: () => view.setHeading(null) },
    ...[heading(1), heading(2), heading(3)],
    list('bullet_list', 'List with bullets', 'bullets'),
    list('ordered_list', 'List with numbers', 'numbers'),
  ]
}

function markTools({ view, facts, onLink }: ToolbarProps): readonly Tool[] {
  const marks = MARKS.map(
    ({ name, ...shown }): Tool => ({
      ...{ ...shown, look: name },
      isPressed: facts.marks.includes(name),
      act: () => view.toggleMark(name),
    }),
  )
  return [...marks, { label: 'Link', icon: 'link', keys: 'Ctrl+K', isPressed: facts.link !== null, act: onLink }]
}

function alignTools({ view, facts }: ToolbarProps): readonly Tool[] {
  return ALIGNS.map(({ align, label }) => ({
    ...{ label, icon: align },
    isPressed: facts.align === align,
    isDisabled: facts.align === null,
    act: () => view.setAlign(align),
  }))
}

function blockTools({ view, facts, onEdit, onMove }: ToolbarProps): readonly Tool[] {
  return [
    { label: 'Change the selected block', icon: 'pencil', keys: 'Enter', isDisabled: facts.node === null, act: onEdit },
    { label: 'Move the block up', icon: 'up', keys: 'Alt+↑', act: () => onMove(-1) },
    { label: 'Move the block down', icon: 'down', keys: 'Alt+↓', act: () => onMove(1) },
    { label: 'Remove the block', icon: 'bin', act: view.remove },
    { label: 'Undo', icon: 'undo', keys: 'Ctrl+Z', isDisabled: !facts.canUndo, act: view.undo },
    { label: 'Redo', icon: 'redo', keys: 'Ctrl+Y', isDisabled: !facts.canRedo, act: view.redo },
  ]
}

/** Reads what stands at the selection of the editor, for its tool bar and dialogs. */
import { redoDepth, undoDepth } from 'prosemirror-history'
import type { Node as MailNode } from 'prosemirror-model'
import { type EditorState, NodeSelection } from 'prosemirror-state'
import { findBlock } from './block-commands.ts'
import { isFormKind, markType } from './editor-keys.ts'
import type { Align, Attributes, MarkName, SelectionFacts } from './mail-document.ts'

const markNames: readonly MarkName[] = ['strong', 'em', 'underline']

export function readFacts(state: EditorState): SelectionFacts {
  const { selection } = state
  const block = findBlock(selection)?.node ?? null
  const selected = selection instanceof NodeSelection ? selection.node : null
  const kind = selected?.type.name ?? ''
  return {
    block: block === null ? '' : nameOf(block),
    marks: markNames.filter((name) => hasMark(state, name)),
    link: findLink(state),
    align: readAlign(selected ?? selection.$from.parent),
    node: selected !== null && isFormKind(kind) ? { kind, attrs: readAttributes(selected) } : null,
    hasText: !selection.empty && selected === null,
    canUndo: undoDepth(state) > 0,
    canRedo: redoDepth(state) > 0,
  }
}

function nameOf({ type, attrs }: MailNode): string {
  return type.name === 'heading' ? `heading${String(attrs['level'])}` : type.name
}

function hasMark({ selection, storedMarks, doc }: EditorState, name: MarkName): boolean {
  const type = markType(name)
  const { from, to, empty, $from } = selection
  if (empty) return type.isInSet(storedMarks ?? $from.marks()) !== undefined
  return doc.rangeHasMark(from, to, type)
}

function findLink({ selection: { $from, empty, from, to }, doc }: EditorState): string | null {
  const type = markType('link')
  const at = [$from.marks(), $from.nodeAfter?.marks ?? []]
    .map((marks) => type.isInSet(marks))
    .find((mark) => mark !== undefined)
  if (at !== undefined) return String(at.attrs['href'])
  if (empty) return null
  let href: string | null = null
  doc.nodesBetween(from, to, ({ marks }) => {
    const mark = type.isInSet(marks)
    if (mark !== undefined) href ??= String(mark.attrs['href'])
  })
  return href
}

function readAlign({ attrs }: MailNode): Align | null {
  const align: unknown = attrs['align']
  return align === 'left' || align === 'center' || align === 'right' ? align : null
}

function readAttributes({ attrs }: MailNode): Attributes {
  const pairs = Object.entries(attrs).map(([name, value]): [string, string | number | null] => [
    name,
    typeof value === 'string' || typeof value === 'number' ? value : null,
  ])
  return Object.fromEntries(pairs)
}

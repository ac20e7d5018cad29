/** The keys of the editor, and what typing does besides inserting text. */
import {
  baseKeymap,
  chainCommands,
  createParagraphNear,
  exitCode,
  selectParentNode,
  toggleMark,
} from 'prosemirror-commands'
import { redo, undo } from 'prosemirror-history'
import { keymap } from 'prosemirror-keymap'
import type { MarkType } from 'prosemirror-model'
import { liftListItem, sinkListItem, splitListItem } from 'prosemirror-schema-list'
import { type Command, type EditorState, NodeSelection, Plugin, type Transaction } from 'prosemirror-state'
import { createNode, moveBlock } from './block-commands.ts'
import type { FormKind, MailViewEvents } from './mail-document.ts'
import { mailSchema } from './mail-schema.ts'

/** The most lists within one another. The server has the same limit. */
const MAX_LIST_DEPTH = 3

const formKinds: ReadonlySet<string> = new Set<FormKind>(['button', 'image', 'spacer', 'html', 'variable'])

export function isFormKind(name: string): name is FormKind {
  return formKinds.has(name)
}

export function markType(name: string): MarkType {
  const type = mailSchema.marks[name]
  if (type === undefined) throw new Error(`no mark ${name}`)
  return type
}

function nodeType(name: string) {
  const type = mailSchema.nodes[name]
  if (type === undefined) throw new Error(`no node ${name}`)
  return type
}

export function buildKeys(events: MailViewEvents): readonly Plugin[] {
  const item = nodeType('list_item')
  const act =
    (run: () => void): Command =>
    () => {
      run()
      return true
    }
  const moveAloud =
    (by: -1 | 1): Command =>
    (state, dispatch) => {
      if (moveBlock(by)(state, dispatch)) events.onMoved(by)
      return true
    }
  const keys: Record<string, Command> = {
    'Mod-b': toggleMark(markType('strong')),
    'Mod-i': toggleMark(markType('em')),
    'Mod-u': toggleMark(markType('underline')),
    'Mod-k': act(() => events.onAsk('link')),
    'Mod-z': undo,
    'Mod-y': redo,
    'Shift-Mod-z': redo,
    'Alt-ArrowUp': moveAloud(-1),
    'Alt-ArrowDown': moveAloud(1),
    'Alt-F10': act(events.onToolbar),
    Escape: selectParentNode,
    'Mod-]': sinkWithin(item),
    'Mod-[': liftListItem(item),
    Enter: chainCommands(askForNode(events), splitListItem(item), addParagraphAfterAtom),
    'Shift-Enter': chainCommands(exitCode, insertLineBreak),
  }
  return [keymap(keys), keymap(baseKeymap), typingPlugin(events), closingParagraph]
}

function sinkWithin(item: ReturnType<typeof nodeType>): Command {
  return (state, dispatch) => {
    const { $from } = state.selection
    const depths = Array.from({ length: $from.depth + 1 }, (_, at) => $from.node(at).type.name)
    const lists = depths.filter((name) => name === 'bullet_list' || name === 'ordered_list').length
    return lists < MAX_LIST_DEPTH && sinkListItem(item)(state, dispatch)
  }
}

/** Enter opens the dialog of a selected block or variable. */
function askForNode(events: MailViewEvents): Command {
  return ({ selection }) => {
    if (!(selection instanceof NodeSelection) || !isFormKind(selection.node.type.name)) return false
    events.onAsk(selection.node.type.name)
    return true
  }
}

const addParagraphAfterAtom: Command = (state, dispatch) =>
  state.selection instanceof NodeSelection && createParagraphNear(state, dispatch)

const insertLineBreak: Command = (state, dispatch) => {
  dispatch?.(state.tr.replaceSelectionWith(createNode('line_break')).scrollIntoView())
  return true
}

/** A variable, from its braces to the one that was typed last. */
const typedVariable = /^\{\{\s{0,9}([\p{L}\p{N}_][\p{L}\p{M}\p{N}_.-]{0,99})\s{0,9}(?:\|([^{}]{0,200}))?\}$/u

/** Turns a typed `{{name|text}}` into a variable, and asks for the menu at a slash in an empty paragraph. */
function typingPlugin(events: MailViewEvents): Plugin {
  return new Plugin({
    props: {
      handleTextInput: (view, from, to, text) => {
        const { state } = view
        if (text === '/' && isAtEmptyPlace(state)) {
          events.onMenu()
          return true
        }
        if (text !== '}') return false
        const tr = replaceTypedVariable(state, from, to)
        if (tr === null) return false
        view.dispatch(tr)
        return true
      },
      handleDoubleClickOn: (view, _pos, node, at) => {
        if (!isFormKind(node.type.name)) return false
        view.dispatch(view.state.tr.setSelection(NodeSelection.create(view.state.doc, at)))
        events.onAsk(node.type.name)
        return true
      },
    },
  })
}

function isAtEmptyPlace({ selection }: EditorState): boolean {
  if (selection instanceof NodeSelection) return selection.node.isBlock
  return selection.empty && selection.$from.parent.isTextblock && selection.$from.parent.content.size === 0
}

function replaceTypedVariable(state: EditorState, from: number, to: number): Transaction | null {
  const $from = state.doc.resolve(from)
  const before = $from.parent.textBetween(
    Math.max(0, $from.parentOffset - 330),
    $from.parentOffset,
    undefined,
    '\uFFFC',
  )
  const start = before.lastIndexOf('{{')
  const match = start === -1 ? null : typedVariable.exec(before.slice(start))
  if (match === null || before.charAt(start - 1) === '{') return null
  const [matched, name = '', fallback] = match
  const node = createNode('variable', { name, fallback: fallback?.trim() ?? null })
  return state.tr.replaceWith(from - matched.length, to, node)
}

/** Keeps a paragraph at the end, so that there always is a place to write on. */
const closingParagraph = new Plugin({
  appendTransaction: (_transactions, _before, { doc, tr }) => {
    const last = doc.lastChild
    if (last === null || last.isTextblock) return null
    return tr.insert(doc.content.size, createNode('paragraph')).setMeta('addToHistory', false)
  },
})

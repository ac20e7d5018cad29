/** Finds, inserts, moves and removes the blocks of a mail. A block stands in the mail itself or in a column. */
import type { Node as MailNode, NodeType, ResolvedPos } from 'prosemirror-model'
import { type Command, NodeSelection, Selection, TextSelection, type Transaction } from 'prosemirror-state'
import { mailSchema } from './mail-schema.ts'

interface FoundBlock {
  readonly node: MailNode
  readonly from: number
  readonly parent: MailNode
  readonly index: number
}

function isContainer({ type }: MailNode): boolean {
  return type.name === 'doc' || type.name === 'column'
}

/** The block at the selection: the innermost that stands in the mail itself or in a column. */
export function findBlock(selection: Selection): FoundBlock | null {
  const { $from } = selection
  if (selection instanceof NodeSelection && selection.node.isBlock && isContainer($from.parent)) {
    return { node: selection.node, from: selection.from, parent: $from.parent, index: $from.index() }
  }
  return findAbove($from, $from.depth)
}

function findAbove($from: ResolvedPos, depth: number): FoundBlock | null {
  for (let at = depth; at > 0; at -= 1) {
    const parent = $from.node(at - 1)
    if (isContainer(parent)) return { node: $from.node(at), from: $from.before(at), parent, index: $from.index(at - 1) }
  }
  return null
}

/** The block, or the columns around it if it cannot move in its column. */
function findMovable(selection: Selection, by: -1 | 1): FoundBlock | null {
  const block = findBlock(selection)
  if (block === null || hasNeighbour(block, by) || block.parent.type.name === 'doc') return block
  const { $from } = selection
  return { node: $from.node(1), from: $from.before(1), parent: $from.node(0), index: $from.index(0) }
}

function hasNeighbour({ parent, index }: FoundBlock, by: -1 | 1): boolean {
  const at = index + by
  return at >= 0 && at < parent.childCount
}

/** Moves the block at the selection over its neighbour. The selection moves with it. */
export function moveBlock(by: -1 | 1): Command {
  return (state, dispatch) => {
    const block = findMovable(state.selection, by)
    if (block === null || !hasNeighbour(block, by)) return false
    const { node, from, parent, index } = block
    const to = by === -1 ? from - parent.child(index - 1).nodeSize : from + parent.child(index + 1).nodeSize
    const tr = state.tr.delete(from, from + node.nodeSize).insert(to, node)
    const offset = to - from
    const { anchor, head } = state.selection
    const selection =
      state.selection instanceof NodeSelection
        ? NodeSelection.create(tr.doc, state.selection.from + offset)
        : TextSelection.create(tr.doc, anchor + offset, head + offset)
    dispatch?.(tr.setSelection(selection).scrollIntoView())
    return true
  }
}

export const removeBlock: Command = (state, dispatch) => {
  const block = findBlock(state.selection)
  if (block === null) return false
  const { node, from, parent } = block
  const end = from + node.nodeSize
  const isOnly = parent.childCount === 1
  const tr = isOnly ? state.tr.replaceWith(from, end, createNode('paragraph')) : state.tr.delete(from, end)
  dispatch?.(tr.setSelection(Selection.near(tr.doc.resolve(Math.min(from, tr.doc.content.size)))).scrollIntoView())
  return true
}

export function createNode(name: string, attrs?: Record<string, unknown>, content?: MailNode | MailNode[]): MailNode {
  const type: NodeType | undefined = mailSchema.nodes[name]
  if (type === undefined) throw new Error(`no node ${name}`)
  return type.create(attrs ?? null, content)
}

/** Inserts a block in place of an empty paragraph, or behind the block at the selection. */
export function insertBlock(node: MailNode): Command {
  return (state, dispatch) => {
    const block = findInsertion(state.selection, node)
    if (block === null) return false
    const isEmpty = block.node.type.name === 'paragraph' && block.node.content.size === 0
    const end = block.from + block.node.nodeSize
    const at = isEmpty ? block.from : end
    const tr = isEmpty ? state.tr.replaceWith(block.from, end, node) : state.tr.insert(end, node)
    dispatch?.(selectInside(tr, at, node).scrollIntoView())
    return true
  }
}

/** Columns stand in the mail itself only. */
function findInsertion(selection: Selection, node: MailNode): FoundBlock | null {
  const block = findBlock(selection)
  if (node.type.name !== 'columns' || block === null || block.parent.type.name === 'doc') return block
  const { $from } = selection
  return { node: $from.node(1), from: $from.before(1), parent: $from.node(0), index: $from.index(0) }
}

/** Puts the cursor into the first text of the new block. Behind a block without text, it adds a paragraph if none follows. */
function selectInside(tr: Transaction, at: number, node: MailNode): Transaction {
  if (!node.isAtom) return tr.setSelection(Selection.near(tr.doc.resolve(at + 1)))
  const end = at + node.nodeSize
  const next = tr.doc.resolve(end).nodeAfter
  if (next === null || !next.isTextblock) tr.insert(end, createNode('paragraph'))
  return tr.setSelection(TextSelection.create(tr.doc, end + 1))
}

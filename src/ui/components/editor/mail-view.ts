/** Runs ProseMirror in an element of the page. Its code is loaded only by pages with an editor. */
import { setBlockType, toggleMark } from 'prosemirror-commands'
import { history, redo, undo } from 'prosemirror-history'
import { DOMParser, Node as MailNode, type Mark } from 'prosemirror-model'
import { liftListItem, wrapInList } from 'prosemirror-schema-list'
import { type Command, EditorState, NodeSelection } from 'prosemirror-state'
import { EditorView } from 'prosemirror-view'
import 'prosemirror-view/style/prosemirror.css'
import { createNode, findBlock, insertBlock, moveBlock, removeBlock } from './block-commands.ts'
import { buildKeys, markType } from './editor-keys.ts'
import type { Attributes, BlockKind, MailDocument, MailView, MailViewEvents } from './mail-document.ts'
import { mailSchema } from './mail-schema.ts'
import { parseHtml, renameInline } from './parse-html.ts'
import { readFacts } from './selection-facts.ts'

interface ViewOptions {
  readonly document: MailDocument | null
  readonly label: string
  readonly describedBy: string
}

/** Throws if the document is none that the editor knows. */
export function createMailView(host: HTMLElement, options: ViewOptions, events: MailViewEvents): MailView {
  const state = EditorState.create({
    doc: readDocument(options.document),
    plugins: [history(), ...buildKeys(events)],
  })
  const view = new EditorView(host, {
    state,
    attributes: {
      role: 'textbox',
      'aria-multiline': 'true',
      'aria-label': options.label,
      'aria-describedby': options.describedBy,
    },
    transformPastedHTML: renameInline,
    dispatchTransaction: (transaction) => {
      const next = view.state.apply(transaction)
      view.updateState(next)
      if (transaction.docChanged) events.onChange(toDocument(next.doc))
      events.onSelect(readFacts(next))
    },
  })
  // The first transaction adds the paragraph at the end, if the mail lacks it.
  view.dispatch(view.state.tr)
  return buildActions(view)
}

function readDocument(document: MailDocument | null): MailNode {
  if (document === null) return createNode('doc', undefined, createNode('paragraph'))
  const doc = MailNode.fromJSON(mailSchema, document)
  doc.check()
  return doc
}

/** Null for a mail without content. The empty paragraph at the end is no part of the mail. */
function toDocument(doc: MailNode): MailDocument | null {
  const blocks: Record<string, unknown>[] = []
  doc.forEach((block, _offset, index) => {
    const isPlace = index === doc.childCount - 1 && block.type.name === 'paragraph' && block.content.size === 0
    if (!isPlace) blocks.push({ ...block.toJSON() })
  })
  return blocks.length === 0 ? null : { type: 'doc', content: blocks }
}

/** Reads the words of HTML: headings, paragraphs, lists, links, images and emphasis. Everything else is lost. */
export function readHtml(html: string): MailDocument | null {
  const page = parseHtml(html)
  for (const element of page.querySelectorAll('x-style, script, title, head, template, noscript')) element.remove()
  return toDocument(DOMParser.fromSchema(mailSchema).parse(page.body))
}

function buildActions(view: EditorView): MailView {
  const run = (command: Command): boolean => command(view.state, view.dispatch, view)
  return {
    focus: () => view.focus(),
    readCursorPlace: () => {
      const { left, bottom } = view.coordsAtPos(view.state.selection.from)
      return { left, top: bottom }
    },
    toggleMark: (name) => void run(toggleMark(markType(name))),
    setHeading: (level) => {
      const { align } = readFacts(view.state)
      const type = level === null ? mailSchema.nodes['paragraph'] : mailSchema.nodes['heading']
      const attrs = { align: align ?? 'left', ...(level === null ? {} : { level }) }
      if (type !== undefined) run(setBlockType(type, attrs))
    },
    toggleList: (kind) => toggleList(view, kind),
    setAlign: (align) => changeBlock(view, { align }),
    setLink: (href, text) => setLink(view, href, text),
    insert: (kind, attrs) => {
      run(insertBlock(buildBlock(kind, attrs)))
      view.focus()
    },
    insertVariable: (attrs) => {
      view.dispatch(view.state.tr.replaceSelectionWith(createNode('variable', attrs)).scrollIntoView())
      view.focus()
    },
    change: (attrs) => changeNode(view, attrs),
    move: (by) => run(moveBlock(by)),
    remove: () => void run(removeBlock),
    undo: () => void run(undo),
    redo: () => void run(redo),
    destroy: () => view.destroy(),
  }
}

function buildBlock(kind: BlockKind, attrs: Attributes = {}): MailNode {
  const paragraph = (): MailNode => createNode('paragraph')
  switch (kind) {
    case 'bullet_list':
    case 'ordered_list':
      return createNode(kind, undefined, createNode('list_item', undefined, paragraph()))
    case 'columns': {
      const column = (): MailNode => createNode('column', undefined, paragraph())
      return createNode(kind, undefined, [column(), column()])
    }
    default:
      return createNode(kind, attrs)
  }
}

function toggleList(view: EditorView, kind: 'bullet_list' | 'ordered_list'): void {
  const run = (command: Command): boolean => command(view.state, view.dispatch, view)
  const [item, list] = [mailSchema.nodes['list_item'], mailSchema.nodes[kind]]
  if (item === undefined || list === undefined) return
  const { block } = readFacts(view.state)
  if (block === kind) {
    run(liftListItem(item))
    return
  }
  const found = findBlock(view.state.selection)
  if (block === 'bullet_list' || block === 'ordered_list') {
    if (found !== null) view.dispatch(view.state.tr.setNodeMarkup(found.from, list))
    return
  }
  // An item of a list has paragraphs only.
  if (block.startsWith('heading') && mailSchema.nodes['paragraph'] !== undefined)
    run(setBlockType(mailSchema.nodes['paragraph']))
  run(wrapInList(list))
}

/** Changes attributes of the text or block at the selection. */
function changeBlock(view: EditorView, attrs: Attributes): void {
  const { state } = view
  const { selection } = state
  const tr = state.tr
  if (selection instanceof NodeSelection) {
    tr.setNodeMarkup(selection.from, undefined, { ...selection.node.attrs, ...attrs })
    tr.setSelection(NodeSelection.create(tr.doc, selection.from))
  } else {
    state.doc.nodesBetween(selection.from, selection.to, (node, at) => {
      if (node.isTextblock) tr.setNodeMarkup(at, undefined, { ...node.attrs, ...attrs })
    })
  }
  view.dispatch(tr)
}

function changeNode(view: EditorView, attrs: Attributes): void {
  if (view.state.selection instanceof NodeSelection) changeBlock(view, attrs)
  view.focus()
}

/** Links the selection, or the whole link at the cursor. Without either, it inserts `text` as a link. */
function setLink(view: EditorView, href: string | null, text: string): void {
  const { state } = view
  const type = markType('link')
  const range = state.selection.empty ? findLinkRange(state) : state.selection
  const tr = state.tr
  if (range !== null) {
    tr.removeMark(range.from, range.to, type)
    if (href !== null) tr.addMark(range.from, range.to, type.create({ href }))
  } else if (href !== null) {
    tr.replaceSelectionWith(mailSchema.text(text || href, [type.create({ href })]), false)
  }
  view.dispatch(tr.scrollIntoView())
  view.focus()
}

/** The neighbouring texts at the cursor that have one link. */
function findLinkRange({ selection: { $from } }: EditorState): { from: number; to: number } | null {
  const start = $from.start()
  let run: { link: Mark; from: number; to: number } | null = null
  let found: { from: number; to: number } | null = null
  $from.parent.forEach((node, offset) => {
    const link = linkOf(node)
    const [from, to] = [start + offset, start + offset + node.nodeSize]
    if (link === undefined) run = null
    else if (run?.link.eq(link) === true) run.to = to
    else run = { link, from, to }
    if (run !== null && run.from <= $from.pos && run.to >= $from.pos) found = run
  })
  return found
}

function linkOf(node: MailNode): Mark | undefined {
  return node.marks.find(({ type }) => type.name === 'link')
}

/** A mail in blocks as the interface stores it, and what its editor offers. Nothing here needs the code of the editor. */

export interface MailDocument {
  readonly type: 'doc'
  readonly content: Record<string, unknown>[]
}

export type Align = 'left' | 'center' | 'right'

/** What the menu of blocks inserts. */
export type BlockKind =
  | 'paragraph'
  | 'heading'
  | 'bullet_list'
  | 'ordered_list'
  | 'button'
  | 'image'
  | 'divider'
  | 'spacer'
  | 'columns'
  | 'html'

/** What a dialog asks for. */
export type FormKind = 'button' | 'image' | 'spacer' | 'html' | 'variable' | 'link'

export type Attributes = Readonly<Record<string, string | number | null>>

export type MarkName = 'strong' | 'em' | 'underline'

/** What stands at the cursor, for the tool bar. */
export interface SelectionFacts {
  /** `heading1`, `paragraph`, `button` and so on. */
  readonly block: string
  readonly marks: readonly MarkName[]
  /** The address of the link at the cursor. */
  readonly link: string | null
  /** Null means that the block has no alignment. */
  readonly align: Align | null
  /** The selected block or variable that a dialog can change. */
  readonly node: { readonly kind: FormKind; readonly attrs: Attributes } | null
  readonly hasText: boolean
  readonly canUndo: boolean
  readonly canRedo: boolean
}

export interface Place {
  /** Pixels from the edges of the window. */
  readonly left: number
  readonly top: number
}

/** The running editor, as its tools use it. */
export interface MailView {
  readonly focus: () => void
  readonly readCursorPlace: () => Place
  readonly toggleMark: (name: MarkName) => void
  readonly setHeading: (level: 1 | 2 | 3 | null) => void
  readonly toggleList: (kind: 'bullet_list' | 'ordered_list') => void
  readonly setAlign: (align: Align) => void
  readonly setLink: (href: string | null, text: string) => void
  readonly insert: (kind: BlockKind, attrs?: Attributes) => void
  readonly insertVariable: (attrs: Attributes) => void
  /** Changes the selected node. */
  readonly change: (attrs: Attributes) => void
  /** Returns false at the end of the mail. */
  readonly move: (by: -1 | 1) => boolean
  readonly remove: () => void
  readonly undo: () => void
  readonly redo: () => void
  readonly destroy: () => void
}

export interface MailViewEvents {
  readonly onChange: (document: MailDocument | null) => void
  readonly onSelect: (facts: SelectionFacts) => void
  /** The user asks for the menu of blocks. */
  readonly onMenu: () => void
  /** The user asks for a dialog, by a key or a double click. */
  readonly onAsk: (kind: FormKind) => void
  /** The user asks for the tool bar. */
  readonly onToolbar: () => void
  readonly onMoved: (by: -1 | 1) => void
}

export const noSelection: SelectionFacts = {
  block: 'paragraph',
  marks: [],
  link: null,
  align: 'left',
  node: null,
  hasText: false,
  canUndo: false,
  canRedo: false,
}

const linkForm = /^(?:https?:\/\/[^\s/?#]|mailto:[^\s]|tel:[+\d]|\{\{)/i
const imageForm = /^(?:https?:\/\/[^\s/?#]|\{\{)/i

/** The server has the same rule. */
export function isLink(url: string): boolean {
  return linkForm.test(url)
}

export function isImageUrl(url: string): boolean {
  return imageForm.test(url)
}

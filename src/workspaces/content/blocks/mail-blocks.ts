/**
 * A mail in blocks, as the editor of the dashboard writes it: a tree of nodes in the JSON form of ProseMirror. The
 * server accepts exactly what is named here, and `read-blocks.ts` says what is wrong with anything else.
 */

export type Align = 'left' | 'center' | 'right'

/** The colors of buttons, by the names that the document has. */
export const buttonColors = {
  blue: '#1a4fa0',
  black: '#1f2328',
  green: '#1a6b35',
  red: '#a8201a',
  purple: '#6a2ca0',
  orange: '#9a4a00',
} as const

type ButtonColor = keyof typeof buttonColors

export type Mark =
  | { readonly type: 'strong' | 'em' | 'underline' }
  | { readonly type: 'link'; readonly attrs: { readonly href: string } }

export type InlineNode =
  | { readonly type: 'text'; readonly text: string; readonly marks?: readonly Mark[] }
  | {
      readonly type: 'variable'
      /** Null means that the variable has no default. */
      readonly attrs: { readonly name: string; readonly fallback: string | null }
      readonly marks?: readonly Mark[]
    }
  | { readonly type: 'line_break'; readonly marks?: readonly Mark[] }

export interface TextBlock {
  readonly type: 'paragraph'
  readonly attrs: { readonly align: Align }
  readonly content: readonly InlineNode[]
}

export interface HeadingBlock {
  readonly type: 'heading'
  readonly attrs: { readonly level: 1 | 2 | 3; readonly align: Align }
  readonly content: readonly InlineNode[]
}

export interface ListItem {
  readonly type: 'list_item'
  readonly content: readonly (TextBlock | ListBlock)[]
}

export interface ListBlock {
  readonly type: 'bullet_list' | 'ordered_list'
  readonly content: readonly ListItem[]
}

export interface ButtonBlock {
  readonly type: 'button'
  readonly attrs: {
    readonly label: string
    readonly href: string
    readonly align: Align
    readonly color: ButtonColor
  }
}

export interface ImageBlock {
  readonly type: 'image'
  readonly attrs: {
    readonly src: string
    /** What screen readers say, and what stands in place of an image that is not loaded. */
    readonly alt: string
    /** Null means that the image is no link. */
    readonly href: string | null
    /** Pixels. Null means as wide as its place. */
    readonly width: number | null
    readonly align: Align
  }
}

interface SpacerBlock {
  readonly type: 'spacer'
  /** Pixels. */
  readonly attrs: { readonly height: number }
}

interface HtmlBlock {
  readonly type: 'html'
  /** The bytes go into the mail as they are. */
  readonly attrs: { readonly html: string }
}

/** A block that may stand in a column. */
export type SimpleBlock =
  | TextBlock
  | HeadingBlock
  | ListBlock
  | ButtonBlock
  | ImageBlock
  | { readonly type: 'divider' }
  | SpacerBlock
  | HtmlBlock

export interface ColumnsBlock {
  readonly type: 'columns'
  readonly content: readonly { readonly type: 'column'; readonly content: readonly SimpleBlock[] }[]
}

export interface MailBlocks {
  readonly type: 'doc'
  readonly content: readonly (SimpleBlock | ColumnsBlock)[]
}

/** The most nodes of a document, texts and line breaks included. */
export const MAX_NODES = 5_000
/** The most blocks of a document, with those in columns and the items of lists. */
export const MAX_BLOCKS = 500
/** The most characters of all texts, URLs and raw HTML of a document. */
export const MAX_CHARACTERS = 250_000
/** The most lists within one another. */
export const MAX_LIST_DEPTH = 3

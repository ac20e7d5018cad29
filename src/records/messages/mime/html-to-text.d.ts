/** The part of html-to-text 10 that we use: it ships no types. */
declare module 'html-to-text' {
  export interface Element {
    readonly attribs?: Readonly<Record<string, string>>
  }
  export interface BlockTextBuilder {
    addInline(text: string): void
  }
  export interface HtmlToTextOptions {
    readonly wordwrap?: number | false
    readonly preserveNewlines?: boolean
    readonly limits?: { readonly maxInputLength?: number; readonly maxDepth?: number }
    readonly formatters?: Readonly<
      Record<string, (element: Element, walk: unknown, builder: BlockTextBuilder, options: unknown) => void>
    >
    readonly selectors?: readonly {
      readonly selector: string
      readonly format?: string
      readonly options?: Readonly<Record<string, unknown>>
    }[]
  }
  export function compile(options: HtmlToTextOptions): (html: string) => string
}

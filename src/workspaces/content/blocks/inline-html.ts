/** Writes the texts of blocks as HTML with inline styles, as mail programs need it. Pure. */
import { writeText } from './html-places.js'
import type { HeadingBlock, InlineNode, ListBlock, ListItem, Mark, TextBlock } from './mail-blocks.js'

const LINK_STYLE = 'color:#1a4fa0;text-decoration:underline'

/** Neighbours with the same link become one link. */
function writeInline(content: readonly InlineNode[]): string {
  const pieces: string[] = []
  let open: string | null = null
  for (const node of content) {
    const href = findLink(node.marks)
    if (href !== open) {
      if (open !== null) pieces.push('</a>')
      if (href !== null) pieces.push(`<a href="${writeText(href)}" style="${LINK_STYLE}">`)
      open = href
    }
    pieces.push(writeMarked(node))
  }
  if (open !== null) pieces.push('</a>')
  return pieces.join('')
}

function findLink(marks: readonly Mark[] = []): string | null {
  const link = marks.find((mark) => mark.type === 'link')
  return link?.type === 'link' ? link.attrs.href : null
}

const tags = { strong: 'strong', em: 'em', underline: 'u' } as const

function writeMarked(node: InlineNode): string {
  const names = (node.marks ?? []).flatMap(({ type }) => (type === 'link' ? [] : [tags[type]]))
  const start = names.map((name) => `<${name}>`).join('')
  const end = names
    .map((name) => `</${name}>`)
    .toReversed()
    .join('')
  return `${start}${writeNode(node)}${end}`
}

function writeNode(node: InlineNode): string {
  switch (node.type) {
    case 'text':
      return writeText(node.text)
    case 'variable': {
      const { name, fallback } = node.attrs
      return fallback === null ? `{{${name}}}` : `{{${name}|${fallback}}}`
    }
    case 'line_break':
      return '<br>'
  }
}

/** An empty paragraph keeps its height. */
export function writeParagraph({ content }: TextBlock): string {
  return `<p style="margin:0">${writeInline(content) || '&nbsp;'}</p>`
}

export function writeHeading({ attrs: { level }, content }: HeadingBlock): string {
  const style = 'margin:0;font-size:inherit;font-weight:inherit;line-height:inherit'
  return `<h${level} style="${style}">${writeInline(content) || '&nbsp;'}</h${level}>`
}

export function writeList({ type, content }: ListBlock): string {
  const tag = type === 'bullet_list' ? 'ul' : 'ol'
  return `<${tag} style="margin:0;padding-left:24px">${content.map(writeItem).join('')}</${tag}>`
}

function writeItem({ content }: ListItem): string {
  const parts = content.map((part) => (part.type === 'paragraph' ? writeParagraph(part) : writeList(part)))
  return `<li style="margin:0 0 4px">${parts.join('')}</li>`
}

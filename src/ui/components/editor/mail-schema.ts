/** The nodes and marks of a mail, as ProseMirror shows and reads them. The server accepts the same documents. */
import { type Attrs, type DOMOutputSpec, type MarkSpec, type NodeSpec, Schema } from 'prosemirror-model'
import { isImageUrl, isLink } from './mail-document.ts'

const aligned = { align: { default: 'left' } }

function alignClass(attrs: Attrs): string {
  return `mail-align-${String(attrs['align'])}`
}

function readAlign(element: HTMLElement): string {
  const align = element.getAttribute('align') ?? ''
  return align === 'center' || align === 'right' ? align : 'left'
}

/** Atoms keep their attributes in one attribute of their element, for copies. */
function atomSpec(name: string, attrs: NodeSpec['attrs'], show: (attrs: Attrs) => DOMOutputSpec): NodeSpec {
  return {
    group: 'simple',
    atom: true,
    selectable: true,
    draggable: true,
    ...(attrs === undefined ? {} : { attrs }),
    parseDOM: [{ tag: `div[data-mail="${name}"]`, getAttrs: (element) => readAtom(element) }],
    toDOM: (node) => [
      'div',
      { 'data-mail': name, 'data-attrs': JSON.stringify(node.attrs), class: `mail-atom mail-${name}` },
      show(node.attrs),
    ],
  }
}

function readAtom(element: HTMLElement): Attrs | false {
  try {
    const attrs: unknown = JSON.parse(element.getAttribute('data-attrs') ?? '')
    return typeof attrs === 'object' && attrs !== null ? { ...attrs } : false
  } catch {
    return false
  }
}

const SHOWN_HTML = 400

const atoms: Record<string, NodeSpec> = {
  button: atomSpec(
    'button',
    { label: { default: 'Read more' }, href: { default: '' }, ...aligned, color: { default: 'blue' } },
    (attrs) => [
      'div',
      { class: alignClass(attrs) },
      [
        'span',
        { class: `mail-button-face mail-color-${String(attrs['color'])}`, title: String(attrs['href']) },
        String(attrs['label']),
      ],
    ],
  ),
  image: imageSpec(),
  divider: atomSpec('divider', undefined, () => ['hr']),
  spacer: atomSpec('spacer', { height: { default: 24 } }, (attrs) => [
    'span',
    `Space of ${String(attrs['height'])} pixels`,
  ]),
  html: atomSpec('html', { html: { default: '' } }, (attrs) => ['pre', String(attrs['html']).slice(0, SHOWN_HTML)]),
}

/** The policy of the dashboard loads no images from elsewhere, so the editor shows their description. */
function imageSpec(): NodeSpec {
  const attrs = {
    src: { default: '' },
    alt: { default: '' },
    href: { default: null },
    width: { default: null },
    ...aligned,
  }
  const spec = atomSpec('image', attrs, (given) => [
    'div',
    { class: alignClass(given) },
    ['span', { class: 'mail-image-face' }, ['strong', String(given['alt'] || 'Image')], ['span', String(given['src'])]],
  ])
  const fromPage = {
    tag: 'img[src]',
    getAttrs: (element: HTMLElement) => {
      const src = element.getAttribute('src') ?? ''
      return isImageUrl(src) ? { src, alt: element.getAttribute('alt') ?? '' } : false
    },
  }
  return { ...spec, parseDOM: [...(spec.parseDOM ?? []), fromPage] }
}

const blocks: Record<string, NodeSpec> = {
  doc: { content: '(simple | columns)+' },
  paragraph: {
    group: 'simple',
    content: 'inline*',
    attrs: aligned,
    parseDOM: [{ tag: 'p', getAttrs: (element) => ({ align: readAlign(element) }) }],
    toDOM: ({ attrs }) => ['p', { class: alignClass(attrs) }, 0],
  },
  heading: {
    group: 'simple',
    content: 'inline*',
    defining: true,
    attrs: { level: { default: 1 }, ...aligned },
    parseDOM: [1, 2, 3, 4, 5, 6].map((level) => ({
      tag: `h${level}`,
      getAttrs: (element: HTMLElement) => ({ level: Math.min(level, 3), align: readAlign(element) }),
    })),
    toDOM: ({ attrs }) => [`h${Number(attrs['level'])}`, { class: alignClass(attrs) }, 0],
  },
  bullet_list: { group: 'simple list', content: 'list_item+', parseDOM: [{ tag: 'ul' }], toDOM: () => ['ul', 0] },
  ordered_list: { group: 'simple list', content: 'list_item+', parseDOM: [{ tag: 'ol' }], toDOM: () => ['ol', 0] },
  list_item: {
    content: 'paragraph (paragraph | list)*',
    defining: true,
    parseDOM: [{ tag: 'li' }],
    toDOM: () => ['li', 0],
  },
  ...atoms,
  columns: {
    content: 'column column',
    isolating: true,
    parseDOM: [{ tag: 'div[data-mail="columns"]' }],
    toDOM: () => ['div', { 'data-mail': 'columns', class: 'mail-columns' }, 0],
  },
  column: {
    content: 'simple+',
    isolating: true,
    parseDOM: [{ tag: 'div[data-mail="column"]' }],
    toDOM: () => ['div', { 'data-mail': 'column', class: 'mail-column' }, 0],
  },
}

const inline: Record<string, NodeSpec> = {
  text: { group: 'inline' },
  variable: {
    group: 'inline',
    inline: true,
    atom: true,
    attrs: { name: { default: 'first_name' }, fallback: { default: null } },
    parseDOM: [{ tag: 'span[data-mail="variable"]', getAttrs: (element) => readAtom(element) }],
    toDOM: ({ attrs }) => [
      'span',
      { 'data-mail': 'variable', 'data-attrs': JSON.stringify(attrs), class: 'mail-variable' },
      attrs['fallback'] === null
        ? `{{${String(attrs['name'])}}}`
        : `{{${String(attrs['name'])}|${String(attrs['fallback'])}}}`,
    ],
    leafText: ({ attrs }) => `{{${String(attrs['name'])}}}`,
  },
  line_break: {
    group: 'inline',
    inline: true,
    selectable: false,
    parseDOM: [{ tag: 'br' }],
    toDOM: () => ['br'],
    leafText: () => '\n',
  },
}

const marks: Record<string, MarkSpec> = {
  link: {
    attrs: { href: {} },
    inclusive: false,
    parseDOM: [
      {
        tag: 'a[href]',
        getAttrs: (element) => {
          const href = element.getAttribute('href') ?? ''
          return isLink(href) ? { href } : false
        },
      },
    ],
    toDOM: ({ attrs }) => ['a', { href: String(attrs['href']), title: String(attrs['href']) }, 0],
  },
  strong: { parseDOM: [{ tag: 'strong' }, { tag: 'b' }], toDOM: () => ['strong', 0] },
  em: { parseDOM: [{ tag: 'em' }, { tag: 'i' }], toDOM: () => ['em', 0] },
  underline: { parseDOM: [{ tag: 'u' }], toDOM: () => ['u', 0] },
}

export const mailSchema = new Schema({ nodes: { ...blocks, ...inline }, marks })

/** Checks a document in blocks from a client, and copies what it knows. Defaults of attributes are filled in. Pure. */
import { isRecord, keysOf } from '../../../base/platform/records.js'
import { isVariableName } from '../template-text.js'
import { BlockReader, type JsonObject } from './block-reader.js'
import {
  type Align,
  buttonColors,
  type ColumnsBlock,
  type InlineNode,
  type ListBlock,
  type ListItem,
  MAX_CHARACTERS,
  MAX_LIST_DEPTH,
  type MailBlocks,
  type Mark,
  type SimpleBlock,
  type TextBlock,
} from './mail-blocks.js'

const aligns: readonly Align[] = ['left', 'center', 'right']
const colors = keysOf(buttonColors)
const SIMPLE_BLOCKS = 'paragraph heading bullet_list ordered_list button image divider spacer html'
const simpleBlocks = SIMPLE_BLOCKS.split(' ')
const imageKeys = ['src', 'alt', 'href', 'width', 'align']
const MAX_URL = 2_048
const MAX_LABEL = 200
const MAX_ALT = 500
const MAX_FALLBACK = 500
const MAX_MARKS = 4
/** Pixels: the width of the mail. */
const MAX_WIDTH = 600
const MAX_HEIGHT = 200

/** Throws a Refusal `invalid-parameter` that names the place of the first fault. */
export function readBlocks(value: unknown): MailBlocks {
  const reader = new BlockReader()
  const { content } = reader.readObject('blocks', value, ['type', 'content'])
  reader.readType('blocks', value, ['doc'])
  return {
    type: 'doc',
    content: reader.readItems('blocks.content', content, 1, (path, item) => readBlock(reader, path, item)),
  }
}

function readBlock(reader: BlockReader, path: string, value: unknown): SimpleBlock | ColumnsBlock {
  const type = reader.readType(path, value, [...simpleBlocks, 'columns'])
  return type === 'columns' ? readColumns(reader, path, value) : readSimpleBlock(reader, path, value)
}

function readColumns(reader: BlockReader, path: string, value: unknown): ColumnsBlock {
  const { content } = reader.readObject(path, value, ['type', 'content'])
  reader.countBlock()
  const columns = reader.readItems(`${path}.content`, content, 2, (place, item) => {
    reader.readType(place, item, ['column'])
    const column = reader.readObject(place, item, ['type', 'content'])
    const readInner = (at: string, inner: unknown): SimpleBlock => readSimpleBlock(reader, at, inner)
    return { type: 'column' as const, content: reader.readItems(`${place}.content`, column['content'], 1, readInner) }
  })
  if (columns.length > 2) reader.fail(`${path}.content`, 'must have 2 columns')
  return { type: 'columns', content: columns }
}

function readSimpleBlock(reader: BlockReader, path: string, value: unknown): SimpleBlock {
  const type = reader.readType(path, value, simpleBlocks)
  switch (type) {
    case 'paragraph':
      return readParagraph(reader, path, value)
    case 'bullet_list':
    case 'ordered_list':
      return readList(reader, path, value, 1)
    default:
      reader.countBlock()
  }
  if (type === 'heading') {
    const { content } = reader.readObject(path, value, ['type', 'attrs', 'content'])
    const { level, align } = readAttributes(reader, path, value, ['level', 'align'])
    return {
      type,
      attrs: {
        level: reader.readChoice(`${path}.attrs.level`, level, [1, 2, 3] as const),
        align: readAlign(reader, path, align),
      },
      content: readInline(reader, path, content),
    }
  }
  return readLeaf(reader, path, value, type)
}

function readLeaf(reader: BlockReader, path: string, value: unknown, type: string): SimpleBlock {
  reader.readObject(path, value, ['type', 'attrs'])
  switch (type) {
    case 'button':
      return readButton(reader, path, value)
    case 'image':
      return readImage(reader, path, value)
    case 'spacer': {
      const { height } = readAttributes(reader, path, value, ['height'])
      return { type, attrs: { height: reader.readNumber(`${path}.attrs.height`, height, 1, MAX_HEIGHT) } }
    }
    case 'html': {
      const { html } = readAttributes(reader, path, value, ['html'])
      return { type, attrs: { html: reader.readText(`${path}.attrs.html`, html, MAX_CHARACTERS) } }
    }
    default:
      readAttributes(reader, path, value, [])
      return { type: 'divider' }
  }
}

function readButton(reader: BlockReader, path: string, value: unknown): SimpleBlock {
  const given = readAttributes(reader, path, value, ['label', 'href', 'align', 'color'])
  return {
    type: 'button',
    attrs: {
      label: readFilled(reader, `${path}.attrs.label`, given['label'], MAX_LABEL),
      href: readUrl(reader, `${path}.attrs.href`, given['href'], linkForm, linkRule),
      align: readAlign(reader, path, given['align']),
      color: reader.readChoice(`${path}.attrs.color`, given['color'], colors, 'blue'),
    },
  }
}

function readImage(reader: BlockReader, path: string, value: unknown): SimpleBlock {
  const { src, alt, href = null, width = null, align } = readAttributes(reader, path, value, imageKeys)
  return {
    type: 'image',
    attrs: {
      src: readUrl(reader, `${path}.attrs.src`, src, imageForm, imageRule),
      alt: reader.readText(`${path}.attrs.alt`, alt, MAX_ALT),
      href: href === null ? null : readUrl(reader, `${path}.attrs.href`, href, linkForm, linkRule),
      width: width === null ? null : reader.readNumber(`${path}.attrs.width`, width, 1, MAX_WIDTH),
      align: readAlign(reader, path, align),
    },
  }
}

function readParagraph(reader: BlockReader, path: string, value: unknown): TextBlock {
  reader.countBlock()
  const { content } = reader.readObject(path, value, ['type', 'attrs', 'content'])
  const { align } = readAttributes(reader, path, value, ['align'])
  return {
    type: 'paragraph',
    attrs: { align: readAlign(reader, path, align) },
    content: readInline(reader, path, content),
  }
}

function readList(reader: BlockReader, path: string, value: unknown, depth: number): ListBlock {
  const type = reader.readType(path, value, ['bullet_list', 'ordered_list'])
  if (depth > MAX_LIST_DEPTH) reader.fail(path, `at most ${MAX_LIST_DEPTH} lists may be within one another`)
  const { content } = reader.readObject(path, value, ['type', 'content'])
  const items = reader.readItems(`${path}.content`, content, 1, (place, item) => readItem(reader, place, item, depth))
  return { type: type === 'bullet_list' ? 'bullet_list' : 'ordered_list', content: items }
}

function readItem(reader: BlockReader, path: string, value: unknown, depth: number): ListItem {
  reader.readType(path, value, ['list_item'])
  reader.countBlock()
  const { content } = reader.readObject(path, value, ['type', 'content'])
  const parts = reader.readItems(`${path}.content`, content, 1, (place, part) => {
    const type = reader.readType(place, part, ['paragraph', 'bullet_list', 'ordered_list'])
    return type === 'paragraph' ? readParagraph(reader, place, part) : readList(reader, place, part, depth + 1)
  })
  return { type: 'list_item', content: parts }
}

function readInline(reader: BlockReader, path: string, value: unknown): readonly InlineNode[] {
  return reader.readItems(`${path}.content`, value, 0, (place, item) => readInlineNode(reader, place, item))
}

function readInlineNode(reader: BlockReader, path: string, value: unknown): InlineNode {
  const type = reader.readType(path, value, ['text', 'variable', 'line_break'])
  const { text, marks: given } = reader.readObject(path, value, ['type', 'text', 'attrs', 'marks'])
  const marks = given === undefined ? {} : { marks: readMarks(reader, `${path}.marks`, given) }
  switch (type) {
    case 'text':
      return { type, text: readFilled(reader, `${path}.text`, text, MAX_CHARACTERS), ...marks }
    case 'variable':
      return { type, attrs: readVariable(reader, path, value), ...marks }
    default:
      return { type: 'line_break', ...marks }
  }
}

function readVariable(reader: BlockReader, path: string, value: unknown): { name: string; fallback: string | null } {
  const { name: given, fallback = null } = readAttributes(reader, path, value, ['name', 'fallback'])
  const name = reader.readText(`${path}.attrs.name`, given, MAX_URL)
  if (!isVariableName(name)) {
    reader.fail(`${path}.attrs.name`, 'must be letters, digits, "_" and "-", and may have parts that dots join', name)
  }
  if (fallback === null) return { name, fallback: null }
  const text = reader.readText(`${path}.attrs.fallback`, fallback, MAX_FALLBACK)
  return /[{}]/.test(text)
    ? reader.fail(`${path}.attrs.fallback`, 'must have no braces', text)
    : { name, fallback: text }
}

function readMarks(reader: BlockReader, path: string, value: unknown): readonly Mark[] {
  if (Array.isArray(value) && value.length > MAX_MARKS) reader.fail(path, `must have at most ${MAX_MARKS} marks`)
  const marks = reader.readItems(path, value, 0, (place, item): Mark => {
    const type = reader.readType(place, item, ['strong', 'em', 'underline', 'link'])
    const { attrs } = reader.readObject(place, item, ['type', 'attrs'])
    if (type !== 'link') return { type: type === 'strong' || type === 'em' ? type : 'underline' }
    const { href } = reader.readObject(`${place}.attrs`, attrs, ['href'])
    return { type, attrs: { href: readUrl(reader, `${place}.attrs.href`, href, linkForm, linkRule) } }
  })
  if (new Set(marks.map(({ type }) => type)).size < marks.length) reader.fail(path, 'must have each mark once')
  return marks
}

/** The attributes of a node. A node without attributes may lack them. */
function readAttributes(reader: BlockReader, path: string, node: unknown, keys: readonly string[]): JsonObject {
  const attrs = isRecord(node) ? node['attrs'] : undefined
  return attrs === undefined ? {} : reader.readObject(`${path}.attrs`, attrs, keys)
}

function readAlign(reader: BlockReader, path: string, value: unknown): Align {
  return reader.readChoice(`${path}.attrs.align`, value, aligns, 'left')
}

function readFilled(reader: BlockReader, path: string, value: unknown, max: number): string {
  const text = reader.readText(path, value, max)
  return text === '' ? reader.fail(path, 'must not be empty') : text
}

/** A URL may begin with a variable, which then is the whole URL or its beginning. */
const linkForm = /^(?:https?:\/\/[^\s/?#]|mailto:[^\s]|tel:[+\d]|\{\{)/i
const linkRule = 'must begin with https://, http://, mailto: or tel:, or be a variable'
const imageForm = /^(?:https?:\/\/[^\s/?#]|\{\{)/i
const imageRule = 'must begin with https:// or http://, or be a variable'

function readUrl(reader: BlockReader, path: string, value: unknown, form: RegExp, rule: string): string {
  const url = readFilled(reader, path, value, MAX_URL)
  if (!form.test(url)) reader.fail(path, rule, url)
  return /\p{Cc}/u.test(url) ? reader.fail(path, 'must have no control characters', url) : url
}

/**
 * Writes the MJML of a document in blocks. Each run of blocks becomes a section with one column, and each block of
 * columns a section with two. Pure but for the words of `HtmlPlaces`, which are random.
 */
import { type HtmlPlaces, writeText } from './html-places.js'
import { writeHeading, writeList, writeParagraph } from './inline-html.js'
import {
  type ButtonBlock,
  buttonColors,
  type ColumnsBlock,
  type HeadingBlock,
  type ImageBlock,
  type MailBlocks,
  type SimpleBlock,
} from './mail-blocks.js'

const FONT = 'Arial, Helvetica, sans-serif'
const TEXT_COLOR = '#1f2328'

/** Mail programs that follow the scheme of the device use these. Others invert the colors by themselves. */
const DARK_STYLE = [
  ':root{color-scheme:light dark;supported-color-schemes:light dark}',
  '@media (prefers-color-scheme:dark){',
  'body,.mail{background-color:#16181d!important}',
  '.words div{color:#e8e8ea!important}',
  '.words a{color:#8ab4f8!important}',
  '.line p{border-top-color:#5b606b!important}',
  '}',
].join('')

const HEAD = [
  '<mj-head>',
  `<mj-attributes><mj-all font-family="${FONT}" /><mj-section padding="0" /></mj-attributes>`,
  '<mj-raw><meta name="color-scheme" content="light dark"></mj-raw>',
  `<mj-style>${DARK_STYLE}</mj-style>`,
  '</mj-head>',
].join('')

export function writeMjml({ content }: MailBlocks, places: HtmlPlaces): string {
  const sections: string[] = []
  let run: SimpleBlock[] = []
  const endRun = (): void => {
    if (run.length > 0) sections.push(`<mj-section>${writeColumn(run, places)}</mj-section>`)
    run = []
  }
  for (const block of content) {
    if (block.type !== 'columns') {
      run.push(block)
      continue
    }
    endRun()
    sections.push(writeColumns(block, places))
  }
  endRun()
  return `<mjml>${HEAD}<mj-body width="600px" css-class="mail">${sections.join('')}</mj-body></mjml>`
}

function writeColumns({ content }: ColumnsBlock, places: HtmlPlaces): string {
  return `<mj-section>${content.map((column) => writeColumn(column.content, places)).join('')}</mj-section>`
}

function writeColumn(blocks: readonly SimpleBlock[], places: HtmlPlaces): string {
  return `<mj-column>${blocks.map((block) => writeBlock(block, places)).join('')}</mj-column>`
}

function writeBlock(block: SimpleBlock, places: HtmlPlaces): string {
  switch (block.type) {
    case 'paragraph':
      return writeWords(places.keep(writeParagraph(block)), `align="${block.attrs.align}" font-size="16px"`)
    case 'heading':
      return writeWords(places.keep(writeHeading(block)), headingStyle(block))
    case 'bullet_list':
    case 'ordered_list':
      return writeWords(places.keep(writeList(block)), 'font-size="16px"')
    case 'button':
      return writeButton(block, places)
    case 'image':
      return writeImage(block, places)
    case 'divider':
      return '<mj-divider css-class="line" border-width="1px" border-color="#c9ccd2" padding="16px 24px" />'
    case 'spacer':
      return `<mj-spacer height="${block.attrs.height}px" />`
    case 'html':
      return `<mj-text padding="0" font-size="16px" line-height="1.5">${places.keep(block.attrs.html)}</mj-text>`
  }
}

function writeWords(words: string, attributes: string): string {
  const shared = `css-class="words" color="${TEXT_COLOR}" line-height="1.5" padding="8px 24px"`
  return `<mj-text ${shared} ${attributes}>${words}</mj-text>`
}

const headingSizes = { 1: 28, 2: 22, 3: 18 } as const

function headingStyle({ attrs: { level, align } }: HeadingBlock): string {
  return `align="${align}" font-size="${headingSizes[level]}px" font-weight="bold"`
}

function writeButton({ attrs: { label, href, align, color } }: ButtonBlock, places: HtmlPlaces): string {
  const look = `background-color="${buttonColors[color]}" color="#ffffff" font-size="16px" font-weight="bold"`
  const shape = 'border-radius="6px" inner-padding="12px 24px" padding="12px 24px"'
  const place = places.keep(writeText(href))
  return `<mj-button align="${align}" ${look} ${shape} href="${place}">${places.keep(writeText(label))}</mj-button>`
}

function writeImage({ attrs: { src, alt, href, width, align } }: ImageBlock, places: HtmlPlaces): string {
  const attributes = [
    `src="${places.keep(writeText(src))}"`,
    `alt="${places.keep(writeText(alt))}"`,
    ...(href === null ? [] : [`href="${places.keep(writeText(href))}"`]),
    ...(width === null ? [] : [`width="${width}px"`]),
  ]
  return `<mj-image align="${align}" padding="8px 24px" ${attributes.join(' ')} />`
}

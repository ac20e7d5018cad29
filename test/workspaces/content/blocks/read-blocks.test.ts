/** Documents in blocks: what is accepted, what is refused with its place, and that any input takes little time. */
import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../../../src/base/mail/refusal.js'
import { MAX_BLOCKS, MAX_CHARACTERS, MAX_NODES } from '../../../../src/workspaces/content/blocks/mail-blocks.js'
import { readBlocks } from '../../../../src/workspaces/content/blocks/read-blocks.js'

const docOf = (...content: unknown[]): unknown => ({ type: 'doc', content })
const words = (text: string): unknown => ({ type: 'paragraph', content: [{ type: 'text', text }] })

/** Returns the message of the refusal, or null. */
function refusalOf(document: unknown): string | null {
  try {
    readBlocks(document)
    return null
  } catch (error) {
    if (error instanceof Refusal) return error.message
    throw error
  }
}

t.test('defaults of attributes are filled in', async (t) => {
  const button = { type: 'button', attrs: { label: 'Go', href: 'https://a.test/' } }
  const image = { type: 'image', attrs: { src: 'https://a.test/a.png', alt: '' } }
  t.same(readBlocks(docOf({ type: 'paragraph' }, button, image)).content, [
    { type: 'paragraph', attrs: { align: 'left' }, content: [] },
    { type: 'button', attrs: { label: 'Go', href: 'https://a.test/', align: 'left', color: 'blue' } },
    {
      type: 'image',
      attrs: { src: 'https://a.test/a.png', alt: '', href: null, width: null, align: 'left' },
    },
  ])
})

const text = (value: unknown): unknown => docOf({ type: 'paragraph', content: [value] })
const link = (href: unknown): unknown => text({ type: 'text', text: 'a', marks: [{ type: 'link', attrs: { href } }] })
const variable = (attrs: unknown): unknown => text({ type: 'variable', attrs })
const nest = (depth: number): unknown => ({
  type: 'bullet_list',
  content: [{ type: 'list_item', content: depth === 1 ? [{ type: 'paragraph' }] : [nest(depth - 1)] }],
})
const column = (...content: unknown[]): unknown => ({ type: 'column', content })

t.test('what is wrong is named with its place', async (t) => {
  const rows: readonly (readonly [document: unknown, message: RegExp])[] = [
    [null, /^blocks: must be an object/],
    [[], /^blocks: must be an object/],
    [{ type: 'doc' }, /^blocks\.content: must be a list/],
    [docOf(), /^blocks\.content: must have 1 or more/],
    [{ type: 'doc', content: [words('a')], extra: 1 }, /^blocks: has the unknown key "extra"/],
    [docOf({ type: 'script' }), /^blocks\.content\[0\]\.type: allowed here: /],
    [docOf({ type: 'paragraph', attrs: { align: 'justify' } }), /attrs\.align: allowed: left, center, right/],
    [docOf({ type: 'paragraph', attrs: { style: 'x' } }), /has the unknown key "style"/],
    [docOf({ type: 'heading', attrs: { level: 4 } }), /attrs\.level: allowed: 1, 2, 3/],
    [docOf({ type: 'heading' }), /attrs\.level: allowed/],
    [docOf({ type: 'spacer', attrs: { height: 0.5 } }), /attrs\.height: must be a whole number/],
    [docOf({ type: 'divider', attrs: { a: 1 } }), /unknown key "a"/],
    [docOf({ type: 'button', attrs: { label: '', href: 'https://a.test' } }), /attrs\.label: must not be empty/],
    [docOf({ type: 'button', attrs: { label: 'a', href: 'https://a.test', color: 'pink' } }), /attrs\.color/],
    [docOf({ type: 'image', attrs: { src: 'data:image/png;base64,AA', alt: '' } }), /attrs\.src: must begin with/],
    [docOf({ type: 'image', attrs: { src: 'https://a.test/', alt: '', width: 601 } }), /attrs\.width/],
    [docOf({ type: 'columns', content: [column(words('a'))] }), /must have 2 or more/],
    [docOf({ type: 'columns', content: [column(words('a')), column(words('a')), column(words('a'))] }), /must have 2/],
    [docOf({ type: 'columns', content: [column(), column(words('a'))] }), /must have 1 or more/],
    [
      docOf({ type: 'columns', content: [column({ type: 'columns' }), column(words('a'))] }),
      /content\[0\]\.content\[0\]\.type: allowed here/,
    ],
    [docOf(nest(4)), /at most 3 lists/],
    [text({ type: 'text', text: '' }), /\.text: must not be empty/],
    [text({ type: 'text', text: 1 }), /\.text: must be a text/],
    [text({ type: 'text', text: 'a', marks: [{ type: 'strong' }, { type: 'strong' }] }), /each mark once/],
    [text({ type: 'text', text: 'a', marks: [{ type: 'blink' }] }), /marks\[0\]\.type/],
    [link('javascript:alert(1)'), /marks\[0\]\.attrs\.href: must begin with/],
    [link('https://'), /must begin with/],
    [link('https://a.test/\u0000'), /control characters/],
    [link(`https://a.test/${'a'.repeat(3_000)}`), /characters, allowed: 2048/],
    [variable({ name: 'a b' }), /attrs\.name: must be letters/],
    [variable({ name: 'a', fallback: '}}' }), /attrs\.fallback: must have no braces/],
    [docOf(...Array.from({ length: MAX_BLOCKS + 1 }, () => ({ type: 'divider' }))), /at most 500 blocks/],
    [docOf({ type: 'paragraph', content: Array.from({ length: MAX_NODES + 1 }, () => ({})) }), /at most 5000 nodes/],
    [docOf(words('a'.repeat(MAX_CHARACTERS)), words('a')), /at most 250000 characters together/],
  ]
  for (const [document, message] of rows) t.match(refusalOf(document), message)
})

t.test('what mails need is accepted', async (t) => {
  const documents = [
    link('mailto:a@b.test'),
    link('tel:+4930123'),
    link('{{unsubscribe_url}}'),
    link('https://a.test/?q={{email}}'),
    variable({ name: 'metadata.plan', fallback: '' }),
    docOf(nest(3)),
    docOf({ type: 'html', attrs: { html: '<p style="color:red">x' } }),
  ]
  for (const document of documents) t.equal(refusalOf(document), null)
})

const nodeTypes = 'paragraph heading bullet_list ordered_list list_item button image divider spacer html columns column'
const anyNode = fc.letrec((tie) => ({
  node: fc.record(
    {
      type: fc.constantFrom(...nodeTypes.split(' '), 'text', 'variable', 'line_break', 'doc', '__proto__'),
      attrs: fc.oneof(fc.jsonValue(), fc.dictionary(fc.constantFrom('href', 'src', 'level', 'html'), fc.jsonValue())),
      text: fc.string(),
      marks: fc.array(fc.jsonValue(), { maxLength: 3 }),
      content: fc.array(tie('node'), { maxLength: 4 }),
    },
    { requiredKeys: ['type'] },
  ),
}))

t.test('any JSON gives a document or a refusal of the field', async (t) => {
  const check = (document: unknown): void => {
    const message = refusalOf(document)
    if (message !== null && !message.startsWith('blocks')) t.fail(message)
  }
  fc.assert(fc.property(fc.jsonValue(), check))
  fc.assert(fc.property(fc.array(anyNode.node, { minLength: 1 }), (content) => check({ type: 'doc', content })))
})

t.test('a document that is read again is the same', async (t) => {
  const document = readBlocks(docOf(words('{{a}} b'), nest(2), { type: 'divider' }))
  t.same(readBlocks(JSON.parse(JSON.stringify(document))), document)
})

t.test('hostile documents are refused soon', async (t) => {
  const many = Array.from({ length: 1_000_000 }, () => ({}))
  const keys = Object.fromEntries(Array.from({ length: 200_000 }, (_, at) => [`k${at}`, at]))
  const braces = '{{'.repeat(MAX_CHARACTERS / 2)
  const hostile = [
    docOf(...many.slice(0, 50_000)),
    { type: 'doc', content: many },
    docOf(keys),
    link(braces),
    text(keys),
  ]
  const start = process.cpuUsage()
  for (const document of hostile) t.not(refusalOf(document), null)
  const { user } = process.cpuUsage(start)
  t.ok(user < 100_000, `${user} microseconds of the processor`)
})

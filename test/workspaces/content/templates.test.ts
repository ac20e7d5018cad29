/** Templates: what is a variable, how values are escaped in each part, what is cached. */
import fc from 'fast-check'
import t from 'tap'
import { Refusal } from '../../../src/base/mail/refusal.js'
import { toJson } from '../../../src/base/storage/tables/columns.js'
import { renderTemplate, type TemplateData } from '../../../src/workspaces/content/render-template.js'
import { parseTemplate, TemplateCache } from '../../../src/workspaces/content/template-cache.js'
import {
  insertUnsubscribeUrl,
  listVariableNames,
  parseBoundedText,
  parseTemplateText,
} from '../../../src/workspaces/content/template-text.js'
import { insertTemplate, removeTemplate, type Template } from '../../../src/workspaces/content/templates.js'
import { temporaryDatabase } from '../../helpers/database/database.js'

const LINK = 'mailto:unsubscribe+x@mail.a.test?subject=unsubscribe'

interface Texts {
  readonly subject?: string
  readonly html?: string | null
  readonly text?: string | null
}

const render = ({ subject = '', html = null, text = null }: Texts, data: TemplateData) =>
  renderTemplate(parseTemplate({ id: 't', subject, html, text }), data, LINK)

function refusal(act: () => unknown): Refusal {
  try {
    act()
  } catch (error) {
    if (error instanceof Refusal) return error
    throw error
  }
  throw new Error('it was not refused')
}

t.test('a value is escaped for each part', async (t) => {
  const rows: readonly (readonly [
    template: string,
    data: TemplateData,
    html: string,
    text: string,
    subject: string,
  ])[] = [
    ['Hi {{name}}!', { name: 'Bob' }, 'Hi Bob!', 'Hi Bob!', 'Hi Bob!'],
    ['{{ name }}{{\tname\n}}', { name: 'B' }, 'BB', 'BB', 'BB'],
    [
      '{{a}}{{{a}}}',
      { a: `<b> & "c" 'd'` },
      `&lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;<b> & "c" 'd'`,
      `<b> & "c" 'd'<b> & "c" 'd'`,
      `<b> & "c" 'd'<b> & "c" 'd'`,
    ],
    ['{{a}}', { a: '&amp;' }, '&amp;amp;', '&amp;', '&amp;'],
    ['{{a}}', { a: 'one\r\ntwo\nthree\r' }, 'one\r\ntwo\nthree\r', 'one\r\ntwo\nthree\r', 'onetwothree'],
    [
      '{{n}} {{z}} {{f}} {{t}}',
      { n: 1.5, z: 0, f: false, t: true },
      '1.5 0 false true',
      '1.5 0 false true',
      '1.5 0 false true',
    ],
    ['[{{a}}]', { a: '' }, '[]', '[]', '[]'],
    ['{{a.b.c}}', { a: { b: { c: 'x' } } }, 'x', 'x', 'x'],
    ['{{größe}} {{a-b}} {{1}} {{_x}}', { größe: 'L', 'a-b': 1, '1': 2, _x: 3 }, 'L 1 2 3', 'L 1 2 3', 'L 1 2 3'],
    ['{{a}}{{b}}', { a: '{{b}}', b: '{{a}}' }, '{{b}}{{a}}', '{{b}}{{a}}', '{{b}}{{a}}'],
    ['{{a}}{{b}}', { a: '{{', b: '$& $1 \\' }, '{{$&amp; $1 \\', '{{$& $1 \\', '{{$& $1 \\'],
    ['{{constructor}}', { constructor: 'c' }, 'c', 'c', 'c'],
    ['{{unsubscribe_url}}', { unsubscribe_url: 'theirs' }, LINK, LINK, ''],
  ]
  for (const [template, data, html, text, subject] of rows) {
    const found = render({ subject: template.replace(/[\r\n]/g, ''), html: template, text: template }, data)
    t.same(found, { subject, html, text }, template)
  }
  t.same(render({ subject: 's' }, {}), { subject: 's', html: null, text: null })
})

t.test('a default stands for a value that the data lacks', async (t) => {
  const data = { name: 'Bob', empty: '', zero: 0, nothing: null, list: ['x'], object: { a: 1 } } as const
  const rows: readonly (readonly [template: string, html: string, text: string])[] = [
    ['Hi {{name|there}}!', 'Hi Bob!', 'Hi Bob!'],
    ['Hi {{gone|there}}!', 'Hi there!', 'Hi there!'],
    ['{{ gone | my friend }}{{gone|}}.', 'my friend.', 'my friend.'],
    ['[{{empty|x}}] {{zero|x}}', '[] 0', '[] 0'],
    ['{{nothing|a}}{{list|b}}{{object|c}}{{object.b|d}}{{object.a|e}}', 'abcd1', 'abcd1'],
    [`{{gone|<b> & "c"}}{{{gone|<b>}}}`, '&lt;b&gt; &amp; &quot;c&quot;<b>', '<b> & "c"<b>'],
    ['{{gone|a|b}} {{gone|$&}} {{gone|name}}', 'a|b $&amp; name', 'a|b $& name'],
    [`{{gone|${'x'.repeat(500)}}}`, 'x'.repeat(500), 'x'.repeat(500)],
    ['{{gone|a}} {{gone|b}} {{{gone|a}}} {{toString|c}}', 'a b a c', 'a b a c'],
    ['{{unsubscribe_url|nowhere}}', LINK, LINK],
  ]
  for (const [template, html, text] of rows) {
    const found = render({ html: template, text: template }, data)
    t.same([found.html, found.text], [html, text], template)
  }
  t.equal(render({ subject: 'A {{gone|b\r\nc}}' }, data).subject, 'A bc')
  t.equal(render({ subject: 'A {{unsubscribe_url|b}}' }, data).subject, 'A ')
  // A name is required if it occurs anywhere without a default.
  const missing = refusal(() => render({ html: '{{a|x}} {{b|y}}', text: '{{b}}' }, {}))
  t.same([missing.kind, missing.details['variables']], ['invalid-template-variables', ['b']])
  t.same(
    listVariableNames(['{{a|x}} {{{b|y}}} {{a}} {{unsubscribe_url|z}}'].map((text) => parseTemplateText('html', text))),
    ['a', 'b'],
  )
})

t.test('behind a bound on variables a text is literal', async (t) => {
  const shape = (max: number): readonly string[] =>
    parseBoundedText('text', 'a {{b}} c {{b}} d {{e}}', max).pieces.map((piece) =>
      typeof piece === 'string' ? piece : '*',
    )
  t.same(shape(2), ['a ', '*', ' c ', '*', ' d {{e}}'])
  t.same(shape(3), ['a ', '*', ' c ', '*', ' d ', '*'])
  t.same(shape(4), shape(3))
})

t.test('defaults count for the size of escaped values', async (t) => {
  const long = 'x'.repeat(500)
  const html = Array.from({ length: 600 }, (_, n) => `{{a|${long.slice(3)}${100 + n}}}`).join('')
  t.match(
    refusal(() => render({ html }, {})),
    { kind: 'too-large', details: { size: 300_000, limit: 262_144 } },
  )
})

t.test('text that is no variable stays unchanged', async (t) => {
  const rows = [
    '{{}}',
    '{{ }}',
    '{{a b}}',
    '{{#if a}}x{{/if}}',
    '{{> part}}',
    '{{!-- note --}}',
    '{{a.}}',
    '{{.a}}',
    '{{a..b}}',
    '{{-a}}',
    '{{|a}}',
    '{{a|{b}}}',
    '{{a|b}',
    `{{a|${'x'.repeat(501)}}}`,
    '{{a b|c}}',
    '{{"a"}}',
    '{a}',
    '{ {a} }',
    '{{a}',
    '{{a',
    'a}}',
    '{{{{',
    '}}}}',
    '<%= a %> {% a %} $a',
    `{{${'a'.repeat(101)}}}`,
  ]
  for (const text of rows) t.equal(render({ text }, {}).text, text)
  t.equal(render({ text: '{{{a}} {{a}}} {{{{a}}}}' }, { a: 1 }).text, '{1 1} {1}')
})

t.test('all variables without a value are reported at once', async (t) => {
  const data = { empty: null, list: ['x'], object: { a: 1 }, deep: 'text' } as const
  const text =
    '{{gone}} {{empty}} {{list}} {{object}} {{object.b}} {{deep.length}} {{list.0}} {{gone}} {{toString}} {{__proto__}} {{object.constructor}}'
  const { kind, message, details } = refusal(() =>
    render({ subject: '{{in_subject}}', text, html: '{{object.a}}' }, data),
  )
  const variables = [
    'in_subject',
    ...['gone', 'empty', 'list', 'object', 'object.b', 'deep.length', 'list.0', 'toString', '__proto__'],
    'object.constructor',
  ]
  t.same([kind, details['variables']], ['invalid-template-variables', variables])
  t.equal(message, `template_data has no value for: ${variables.slice(0, 10).join(', ')}, and 1 more`)
  t.match(details['errors'], [
    { field: 'template_data.in_subject', message: 'is required by the template', value: null },
    { field: 'template_data.gone', message: 'is required by the template' },
    { field: 'template_data.empty', message: 'must be text, a number or a boolean' },
  ])
  const many = Array.from({ length: 500 }, (_, n) => `{{v${n}}}`).join('')
  t.same((refusal(() => render({ text: many }, {})).details['errors'] as unknown[]).length, 100)
})

t.test('a size that is too large is known before the text is built', async (t) => {
  const data = { long: 'x'.repeat(1_000_000), quotes: '"'.repeat(3_000_000) }
  const millions = { text: '{{long}}'.repeat(5_000) }
  t.match(
    refusal(() => render(millions, data)),
    { kind: 'too-large', details: { size: 5e9, limit: 15_728_640 } },
  )
  t.match(
    refusal(() =>
      render({ html: '{{quotes}}'.repeat(10), text: '{{quotes}}'.repeat(5) }, { quotes: '"'.repeat(262_144) }),
    ),
    { kind: 'too-large', details: { size: 15 * 6 * 262_144 - 25 * 262_144 } },
  )
  t.equal(render({ html: '{{{quotes}}}' }, data).html?.length, 3_000_000)
})

t.test('variables stand in a limited number of places of each text', async (t) => {
  t.equal(render({ html: '{{a}}'.repeat(5_000), text: '{{a}}'.repeat(5_000) }, { a: 1 }).html?.length, 5_000)
  for (const field of ['html', 'text']) {
    t.match(
      refusal(() => render({ [field]: '{{a}}'.repeat(5_001) }, { a: 1 })),
      {
        kind: 'invalid-parameter',
        message: /^(html|text): .* more than 5000 places/,
        details: { field, limit: 5_000 },
      },
    )
  }
})

t.test('the size of all escaped values together is limited', async (t) => {
  const html = '{{a}}{{b}}{{a}}'
  const most = { a: '"'.repeat(262_143), b: 'é' }
  t.equal(render({ html }, most).html?.length, 2 * 6 * 262_143 + 1)
  t.match(
    refusal(() => render({ html }, { ...most, b: 'é<' })),
    { kind: 'too-large', details: { size: 262_145, limit: 262_144 } },
  )
  t.equal(render({ text: '{{a}}', html: '{{{a}}}' }, { a: '"'.repeat(300_000) }).html?.length, 300_000)
})

t.test('an invalid subject is refused with the values that make it so', async (t) => {
  for (const name of ['\0', '\ud800', 'x'.repeat(999)]) {
    t.match(
      refusal(() => render({ subject: '{{name}}' }, { name })),
      {
        kind: 'invalid-parameter',
        details: { field: 'subject' },
      },
    )
  }
  t.equal(render({ subject: '{{name}}' }, { name: 'x'.repeat(998) }).subject.length, 998)
})

t.test('the names of variables are listed in order, each once, without reserved ones', async (t) => {
  const texts = ['{{b}} {{a}} {{unsubscribe_url}}', '{{{a}}} {{c.d}} {{ b }}'].map((text) =>
    parseTemplateText('html', text),
  )
  t.same(listVariableNames(texts), ['b', 'a', 'c.d'])
})

/** The reference: piece by piece, in the plainest way. */
function reference(text: string, valueFor: (name: string, raw: boolean) => string): string {
  const at = text.indexOf('{{')
  if (at === -1) return text
  const rest = text.slice(at)
  const raw = /^\{\{\{\s*(\w+)\s*\}\}\}/.exec(rest)
  const [whole = '{', name] = raw ?? /^\{\{\s*(\w+)\s*\}\}/.exec(rest) ?? []
  const value = name === undefined ? whole : valueFor(name, raw !== null)
  return text.slice(0, at) + value + reference(rest.slice(whole.length), valueFor)
}

const entity: Readonly<Record<string, string>> = { '<': '&lt;', '&': '&amp;', '"': '&quot;' }

t.test('for any text and values, the result is that of the piecewise reference', async (t) => {
  const bit = fc.constantFrom(
    '{',
    '{{',
    '{{{',
    '}',
    '}}',
    '}}}',
    'a',
    'bc',
    ' ',
    '\n',
    '<&"',
    '{{a}}',
    '{{{bc}}}',
    '{{ a }}',
  )
  const words = fc.array(bit, { maxLength: 30 }).map((bits) => bits.join(''))
  fc.assert(
    fc.property(words, words, (text, value) => {
      const data = Object.fromEntries([...text.matchAll(/\w+/g)].map(([name]) => [name, name + value]))
      const plain = (name: string): string => data[name] ?? ''
      const escaped = (name: string, raw: boolean): string =>
        raw ? plain(name) : plain(name).replace(/[<&"]/g, (char) => entity[char] ?? '')
      t.equal(render({ text }, data).text, reference(text, plain))
      t.equal(render({ html: text }, data).html, reference(text, escaped))
    }),
  )
})

const row = (id: string, more: Partial<Template> = {}): Template => ({
  id,
  workspace_id: 'ws_1',
  name: id,
  alias: null,
  subject: `subject of ${id}`,
  html: null,
  text: 'x'.repeat(1_000),
  blocks: null,
  listed_variables: null,
  variables: toJson([]),
  size: 1_000,
  version: 1,
  created_at: 1,
  updated_at: 1,
  ...more,
})

t.test('the cache keeps the last used templates and drops those it must forget', async (t) => {
  const { database } = await temporaryDatabase(t)
  await database.commit(['a', 'b', 'c'].map((id) => insertTemplate(row(id))))
  const asked: unknown[] = []
  const read: typeof database.read = async (sql, parameters) => {
    asked.push(parameters[1])
    return database.read(sql, parameters)
  }
  const cache = new TemplateCache(read, 5_000)
  const subjects: unknown[] = []
  for (const id of ['a', 'b', 'a', 'c', 'a', 'b']) subjects.push((await cache.find('ws_1', id))?.id)
  t.same(
    [subjects, asked],
    [
      ['a', 'b', 'a', 'c', 'a', 'b'],
      ['a', 'b', 'c', 'b'],
    ],
  )
  t.equal(await cache.find('ws_2', 'a'), undefined, 'not in another workspace')

  await database.commit([removeTemplate({ workspaceId: 'ws_1', id: 'a' })])
  t.equal((await cache.find('ws_1', 'a'))?.id, 'a', 'it has not been dropped yet')
  cache.forget('ws_1', 'a')
  t.equal(await cache.find('ws_1', 'a'), undefined)
  await database.commit([removeTemplate({ workspaceId: 'ws_1', id: 'b' })])
  cache.drop()
  t.equal(await cache.find('ws_1', 'b'), undefined)
})

t.test('in a body that is no template, the unsubscribe URL alone is a variable', (t) => {
  const url = 'https://a.test/x?a=1&b=2'
  const escaped = 'https://a.test/x?a=1&amp;b=2'
  const rows: readonly (readonly [body: string, html: string, text: string])[] = [
    ['{{unsubscribe_url}}', escaped, url],
    ['<{{ unsubscribe_url\n}}>{{{unsubscribe_url}}}', `<${escaped}>${url}`, `<${url}>${url}`],
    [
      '{{name}} {{unsubscribe_urls}} {unsubscribe_url}',
      '{{name}} {{unsubscribe_urls}} {unsubscribe_url}',
      '{{name}} {{unsubscribe_urls}} {unsubscribe_url}',
    ],
    ['$& $1 {{unsubscribe_url}}', `$& $1 ${escaped}`, `$& $1 ${url}`],
  ]
  const anySize = (): void => undefined
  for (const [body, html, text] of rows) {
    t.equal(insertUnsubscribeUrl(body, url, 'html', anySize), html)
    t.equal(insertUnsubscribeUrl(body, url, 'text', anySize), text)
  }
  const sizes: number[] = []
  insertUnsubscribeUrl('{{unsubscribe_url}}'.repeat(3), url, 'text', (size) => sizes.push(size))
  t.equal(sizes.at(-1), url.length * 3)
  t.end()
})

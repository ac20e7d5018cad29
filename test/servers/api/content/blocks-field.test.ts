/** Mails in blocks over the interface: their HTML, the two sources, changes that overtake each other, previews. */
import t from 'tap'
import { ComposeThread } from '../../../../src/outbound/sending/compose-thread.js'
import { testDaemon } from '../../../helpers/daemon/test-daemon.js'
import { givePassword, openBrowser } from '../../../helpers/http/browser-client.js'

interface Stored {
  readonly id: string
  readonly html: string | null
  readonly blocks: { readonly content: readonly unknown[] } | null
  readonly variables?: readonly string[]
  readonly updated_at: string
}

const app = await testDaemon(t)
const blocksOf = (text: string): object => ({
  type: 'doc',
  content: [{ type: 'paragraph', content: [{ type: 'text', text: `${text} {{first_name|you}}` }] }],
})

const paths = {
  template: { path: '/v1/templates', body: { name: 'Hello', subject: 'Hi' } },
  broadcast: { path: '/v1/broadcasts', body: { name: 'May', subject: 'Hi', from: 'news@a.test' } },
} as const

for (const [what, { path, body }] of Object.entries(paths)) {
  t.test(`a ${what} has its HTML from blocks, until HTML takes their place`, async (t) => {
    const audience = (await app.rest('POST', '/v1/audiences', { body: { name: what } })).json<{ id: string }>()
    const given = what === 'broadcast' ? { ...body, audience_id: audience.id } : body
    const made = await app.rest('POST', path, { body: { ...given, blocks: blocksOf('Hello') } })
    t.equal(made.status, 201, made.text)
    const { id, html, blocks } = made.json<Stored>()
    t.match(html, /<!--\[if mso[\s\S]*Hello \{\{first_name\|you\}\}/)
    t.match(blocks?.content, [{ type: 'paragraph', attrs: { align: 'left' } }])
    const read = (await app.rest('GET', `${path}/${id}`)).json<Stored>()
    t.same(read.blocks, blocks)

    const changed = (await app.rest('PATCH', `${path}/${id}`, { body: { blocks: blocksOf('Bye') } })).json<Stored>()
    t.match(changed.html, 'Bye {{first_name|you}}')
    const both = await app.rest('PATCH', `${path}/${id}`, { body: { html: '<p>', blocks: blocksOf('x') } })
    t.equal(both.status, 400)
    t.match(both.text, 'give either blocks or html')
    const wrong = await app.rest('PATCH', `${path}/${id}`, {
      body: { blocks: { type: 'doc', content: [{ type: 'x' }] } },
    })
    t.equal(wrong.status, 400)
    t.match(wrong.json(), { error: { details: { errors: [{ field: 'blocks.content[0].type' }] } } })
    const kept = (await app.rest('PATCH', `${path}/${id}`, { body: { blocks: null } })).json<Stored>()
    t.match([kept.html, kept.blocks], [/Bye/, null])
    await app.rest('PATCH', `${path}/${id}`, { body: { blocks: blocksOf('Again') } })
    const written = (await app.rest('PATCH', `${path}/${id}`, { body: { html: '<p>own</p>' } })).json<Stored>()
    t.same([written.html, written.blocks], ['<p>own</p>', null])
  })

  t.test(`a change of a ${what} does not overwrite one that its author has not seen`, async (t) => {
    const [first] = (await app.rest('GET', path)).json<{ data: Stored[] }>().data
    app.advance(1_000)
    const change = (more: object) => app.rest('PATCH', `${path}/${first?.id}`, { body: { name: 'New', ...more } })
    const seen = (await change({ if_updated_at: first?.updated_at })).json<Stored>()
    t.not(seen.updated_at, first?.updated_at)
    const otherSpelling = seen.updated_at.replace('Z', '+00:00')
    t.equal((await change({ if_updated_at: otherSpelling })).status, 200, 'any spelling of the same time')
    const late = await change({ if_updated_at: first?.updated_at })
    t.equal(late.status, 409)
    t.match(late.json(), { error: { code: 'conflict', details: { field: 'if_updated_at' } } })
    t.equal((await change({})).status, 200)
  })
}

t.test('nothing is compiled for what cannot be changed', async (t) => {
  const compile = t.capture(ComposeThread.prototype, 'compileBlocks', ComposeThread.prototype.compileBlocks)
  for (const { path } of Object.values(paths)) {
    const [first] = (await app.rest('GET', path)).json<{ data: Stored[] }>().data
    const change = (id = '', more: object = {}) =>
      app.rest('PATCH', `${path}/${id}`, { body: { blocks: blocksOf('x'), ...more } })
    t.equal((await change('unknown')).status, 404)
    t.equal((await change(first?.id, { if_updated_at: '2020-01-01T00:00:00Z' })).status, 409)
    t.equal(compile().length, 0)
    t.equal((await change(first?.id)).status, 200)
    t.equal(compile().length, 1)
  }
})

t.test('a template replaces the blocks of a draft', async (t) => {
  const [draft] = (await app.rest('GET', paths.broadcast.path)).json<{ data: Stored[] }>().data
  const [template] = (await app.rest('GET', paths.template.path)).json<{ data: Stored[] }>().data
  const change = (body: object) => app.rest('PATCH', `/v1/broadcasts/${draft?.id}`, { body })
  await change({ blocks: blocksOf('x') })
  const changed = await change({ template_id: template?.id })
  t.match(changed.json(), { html: null, blocks: null, template_id: template?.id })
  t.match((await change({ template_id: null, subject: 'Hi', blocks: blocksOf('y') })).json(), { template_id: null })
})

t.test('a preview compiles blocks, and shows the footer, a scheme and images', async (t) => {
  await givePassword(app)
  const browser = openBrowser(app)
  await browser.signIn('owner@a.test')
  const body = { subject: '', blocks: blocksOf('Hello'), footer: true }
  const preview = (await browser.ask('POST', '/template-previews', { body })).json<{ html: string }>()
  t.match(preview.html, /Hello you[\s\S]*Unsubscribe<\/a><\/div><\/body><\/html>$/)
  const { html } = (await browser.ask('POST', '/compiled-blocks', { body: { blocks: blocksOf('Hello') } })).json<{
    html: string
  }>()
  t.match(html, 'Hello {{first_name|you}}')
  const { id } = (await browser.ask('POST', '/previews', { body: { html: preview.html } })).json<{ id: string }>()
  const blocked = await browser.ask('GET', `/frames/previews/${id}`)
  t.match(blocked.headers['content-security-policy'], /img-src data:;/)
  t.match(blocked.text, 'color-scheme:light!important')
  const shown = await browser.ask('GET', `/frames/previews/${id}?images=shown&scheme=dark`)
  t.match(shown.headers['content-security-policy'], /^sandbox; default-src 'none'; img-src data: https: http:; /)
  t.match(shown.text, 'color-scheme:dark!important')
  t.equal((await browser.ask('GET', `/frames/previews/${id}?scheme=blue`)).status, 400)
})

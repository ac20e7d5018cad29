/** Content that is composed on a thread: the same message, links and reasons as on the main thread. */
import t from 'tap'
import { parseAddress, parseDomainName } from '../../../src/base/mail/address.js'
import { composeContent, isLargeContent } from '../../../src/outbound/sending/compose-content.js'
import { ComposeThread, MAX_WAITING_MESSAGES } from '../../../src/outbound/sending/compose-thread.js'
import { LineWrapper } from '../../../src/outbound/sending/line-wrapper.js'
import type { MessageContent, RequestedContent } from '../../../src/outbound/sending/message-content.js'
import { wrapLongLines } from '../../../src/outbound/sending/wrap-long-lines.js'
import { EmailTracker } from '../../../src/outbound/tracking/track-email.js'
import { renderSmallTemplate, renderTemplate } from '../../../src/workspaces/content/render-template.js'
import { parseTemplate } from '../../../src/workspaces/content/template-cache.js'

const base = 'https://mail.test'
const email = {
  workspaceId: 'ws_1',
  emailId: '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee',
  domain: parseDomainName('a.test'),
  opens: true,
  clicks: false,
  now: 1_000,
}
const from = { address: parseAddress('app@a.test'), name: 'App' }
const small: MessageContent = {
  ...{ from, to: [from], cc: [], bcc: [], replyTo: [], subject: 'Hello', fields: [] },
  ...{ html: '<p>Hellö</p>', text: null, attachments: [], inlineImages: [] },
}
const file = (bytes: number) => ({ filename: 'a.bin', contentType: 'text/plain', content: Buffer.alloc(bytes, 'ab') })

t.test('the thread composes what the main thread would', async (t) => {
  const thread = new ComposeThread()
  t.teardown(() => thread.stop())
  const contents: readonly MessageContent[] = [
    small,
    { ...small, html: null, text: 'x' },
    { ...small, html: '<p>some wörds</p>\n'.repeat(50_000), text: 'line\n'.repeat(50_000) },
    { ...small, attachments: [file(300_000), file(3)], inlineImages: [{ ...file(100_000), cid: 'c' }] },
  ]
  for (const content of contents) {
    const job = { content, email, hostname: 'mail.test', unsubscribe: null }
    const here = composeContent(job, new EmailTracker({ trackingHost: { baseFor: () => base }, publicUrl: base }))
    const there = await thread.compose({ ...job, base, publicUrl: base })
    t.ok(Buffer.isBuffer(there.raw))
    t.ok(here.raw.equals(there.raw), 'the same bytes')
    t.strictSame({ ...there, raw: null }, { ...here, raw: null })
  }
  t.ok(contents[3]?.attachments[0]?.content.length, 'files of the caller are copied')
})

t.test('the thread renders what the main thread would, and leaves small templates to it', async (t) => {
  const thread = new ComposeThread()
  t.teardown(() => thread.stop())
  const parsed = parseTemplate({ id: 't', subject: 'Hi {{a}}', html: '<p>{{b}}ö</p>{{b}}', text: null })
  const data = { a: 'x', b: '<&>'.repeat(20_000) }
  const here = renderTemplate(parsed, data, 'https://u.test')
  const job = { template: parsed, data, unsubscribeUrl: 'https://u.test' }
  const there = await thread.render('ws_1', { ...job, form: 'text' })
  t.strictSame({ ...there, html: there.html?.toString() }, here)
  t.equal(JSON.parse((await thread.render('ws_1', { ...job, form: 'json' })).html?.toString() ?? ''), here.html)
  await t.rejects(thread.render('ws_1', { ...job, data: {}, form: 'text' }), /no value for: a, b/)
  t.equal(renderSmallTemplate(parsed, data, 'https://u.test'), null)
  t.strictSame(renderSmallTemplate(parsed, { a: 'x', b: 'y' }, ''), renderTemplate(parsed, { a: 'x', b: 'y' }, ''))
  t.throws(() => renderSmallTemplate(parsed, {}, ''), /no value for: a, b/)
  const html = '<p>{{name}}</p>{{other}}'
  const preview = await thread.preview('ws_1', {
    ...{ words: { id: '', subject: 's', html, text: null }, data: { name: 'A' } },
    unsubscribeUrl: '',
  })
  t.match(preview, { html: '<p>A</p>{{other}}', variables: ['name', 'other'], missing: ['other'] })
})

const words = '<p>some wörds {{unsubscribe_url}}</p>\n'
const unsubscribe = {
  url: 'https://mail.test/v1/unsubscribe/t1',
  fields: [{ name: 'List-Unsubscribe', value: '<https://mail.test/v1/unsubscribe/t1>' }],
}
const tracker = new EmailTracker({ trackingHost: { baseFor: () => base }, publicUrl: base })

t.test('bodies in UTF-8 give the message of the same bodies as strings', async (t) => {
  const thread = new ComposeThread()
  t.teardown(() => thread.stop())
  const html = words.repeat(900) + 'x'.repeat(70_000)
  const job = { email, hostname: 'mail.test', unsubscribe }
  const here = composeContent({ ...job, content: { ...small, html } }, tracker)
  t.equal(here.hasUnsubscribeLink, true)
  const content: RequestedContent = { ...small, html: Buffer.from(html) }
  const there = await thread.compose({ ...job, content, base, publicUrl: base })
  t.ok(here.raw.equals(there.raw), 'the same bytes')
  t.strictSame({ ...there, raw: null }, { ...here, raw: null })
  t.equal(content.html?.length, 0, 'its memory went to the thread')
})

t.test('files that nothing else uses give their memory to the thread', async (t) => {
  const thread = new ComposeThread()
  t.teardown(() => thread.stop())
  const content = { ...small, attachments: [file(100_000), { ...file(100_000), isOwn: true }] }
  const job = { content, email, hostname: 'mail.test', unsubscribe: null }
  const here = composeContent(job, tracker)
  const there = await thread.compose({ ...job, base, publicUrl: base })
  t.ok(here.raw.equals(there.raw), 'the same bytes')
  t.strictSame(
    content.attachments.map((one) => one.content.length),
    [100_000, 0],
  )
})

t.test('the link and its header fields are added where the variable stands', (t) => {
  const compose = (html: string) =>
    composeContent({ content: { ...small, html }, email, hostname: 'mail.test', unsubscribe }, tracker)
  const linked = compose(words)
  t.match(linked.raw.toString(), /^List-Unsubscribe: </m)
  t.equal(linked.hasUnsubscribeLink, true)
  const plain = compose('<p>unsubscribe_url</p>')
  t.notMatch(plain.raw.toString(), /^List-Unsubscribe: </m)
  t.equal(plain.hasUnsubscribeLink, false)
  t.end()
})

t.test('a refusal in the thread is the refusal of the email', async (t) => {
  const thread = new ComposeThread()
  t.teardown(() => thread.stop())
  const content = { ...small, html: Buffer.from(words.repeat(2_500)) }
  const composed = thread.compose({ content, email, hostname: 'mail.test', unsubscribe, base, publicUrl: base })
  const details = { field: 'html', limit: 1_000 }
  await t.rejects(composed, { name: 'Refusal', kind: 'invalid-parameter', details })
})

t.test('what takes long is large', (t) => {
  const html = '<p>word</p>'.repeat(2_000)
  t.equal(isLargeContent(small), false)
  t.equal(isLargeContent({ ...small, html, text: 'x' }), false, 'only encoded')
  t.equal(isLargeContent({ ...small, html }), true, 'a text is made from it')
  t.equal(isLargeContent({ ...small, html: html.repeat(4), text: 'x' }), true)
  t.equal(isLargeContent({ ...small, text: Buffer.alloc(70_000, 'x') }), true, 'a body in UTF-8')
  t.equal(isLargeContent({ ...small, attachments: [file(70_000)] }), true)
  t.end()
})

t.test('long lines of a large message are wrapped there as here', async (t) => {
  const thread = new ComposeThread()
  t.teardown(() => thread.stop())
  const raw = Buffer.from(`Subject: s\r\n\r\n${'word '.repeat(60_000)}\r\n`)
  const rules = { maxLineOctets: 998, workspaceId: 'ws_1' }
  const here = wrapLongLines(raw, 998)
  const there = await new LineWrapper(thread).wrap({ raw: Buffer.concat([raw]), ...rules })
  t.ok(here !== null && there?.equals(here))
  const sealed = Buffer.from(`Content-Type: application/pkcs7-mime\r\n\r\n${'x'.repeat(200_000)}\r\n`)
  t.equal(await new LineWrapper(thread).wrap({ raw: sealed, ...rules }), null)
})

t.test('mail waits for one compilation, and owners take turns at theirs', async (t) => {
  const thread = new ComposeThread((workspaceId) => (workspaceId === 'ws_3' ? 'ws_1' : workspaceId))
  t.teardown(() => thread.stop())
  const done: string[] = []
  const blocks = { type: 'doc', content: [{ type: 'divider' }] }
  const compile = async (workspaceId: string): Promise<void> => {
    await thread.compileBlocks(workspaceId, blocks)
    done.push(workspaceId)
  }
  const preview = async (workspaceId: string): Promise<void> => {
    const words = { id: '', subject: 's', html: '<p>', text: null }
    await thread.preview(workspaceId, { words, data: {}, unsubscribeUrl: '' })
    done.push(workspaceId)
  }
  const compose = async (): Promise<void> => {
    const job = { email, hostname: 'mail.test', unsubscribe: null, base, publicUrl: base }
    await thread.compose({ content: small, ...job })
    done.push('mail')
  }
  const ofFirst = [
    compile('ws_1'),
    compile('ws_3'),
    preview('ws_1'),
    ...Array.from({ length: 6 }, () => compile('ws_1')),
  ]
  await t.rejects(
    compile('ws_3'),
    { name: 'Refusal', kind: 'unavailable', details: { retry_after: 1 } },
    'eight of the owner wait already',
  )
  await Promise.all([...ofFirst, compile('ws_2'), compose()])
  t.same(done.slice(0, 5), ['ws_1', 'mail', 'ws_3', 'ws_2', 'ws_1'])
  t.equal(done.length, 11)
})

t.test('templates that are only shown take turns, and mail does not', async (t) => {
  const thread = new ComposeThread()
  t.teardown(() => thread.stop())
  const template = parseTemplate({ id: 't', subject: 'Hi', html: '<p>{{b}}</p>', text: null })
  const job = { template, data: { b: 'x'.repeat(60_000) }, unsubscribeUrl: 'https://u.test', form: 'json' } as const
  const shown = await Promise.allSettled(Array.from({ length: 12 }, () => thread.renderInTurn('ws_1', job)))
  t.equal(shown.filter(({ status }) => status === 'rejected').length, 3, 'one is under way, and eight wait')
  t.match(shown.at(-1), { reason: { kind: 'unavailable', details: { retry_after: 1 } } })
  const mail = await Promise.all(Array.from({ length: 12 }, () => thread.render('ws_1', job)))
  t.equal(mail.length, 12)
})

t.test('so many messages of one workspace may wait', async (t) => {
  const template = parseTemplate({ id: 't', subject: 'Hi', html: '<p>{{b}}</p>', text: null })
  const rendered = { template, data: { b: 'x' }, unsubscribeUrl: 'https://u.test', form: 'text' } as const
  const raw = Buffer.from(`Subject: s\r\n\r\n${'word '.repeat(300)}\r\n`)
  const ways: Readonly<Record<string, (thread: ComposeThread, workspaceId: string) => Promise<unknown>>> = {
    compose: (thread, workspaceId) =>
      thread.compose({
        ...{ content: small, email: { ...email, workspaceId }, hostname: 'mail.test', unsubscribe: null },
        ...{ base, publicUrl: base },
      }),
    render: (thread, workspaceId) => thread.render(workspaceId, rendered),
    wrap: (thread, workspaceId) => thread.wrap({ raw, maxLineOctets: 998, workspaceId }),
  }
  for (const [name, send] of Object.entries(ways)) {
    const thread = new ComposeThread((workspaceId) => (workspaceId === 'ws_3' ? 'ws_1' : workspaceId))
    t.teardown(() => thread.stop())
    const ids = Array.from({ length: MAX_WAITING_MESSAGES + 2 }, (_, place) => (place % 2 === 0 ? 'ws_1' : 'ws_3'))
    const many = Promise.allSettled(ids.map((workspaceId) => send(thread, workspaceId)))
    t.ok(await send(thread, 'ws_2'), `${name}: another owner has room`)
    const refused = (await many).filter(({ status }) => status === 'rejected')
    t.match(refused, [{ reason: { kind: 'unavailable' } }], name)
    t.equal(refused.length, 1, name)
  }
})

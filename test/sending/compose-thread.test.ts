/** Content that is composed on a thread: the same message, links and reasons as on the main thread. */
import t from 'tap'
import { parseAddress, parseDomainName } from '../../src/mail/address.js'
import { composeContent, isLargeContent } from '../../src/sending/compose-content.js'
import { ComposeThread } from '../../src/sending/compose-thread.js'
import type { MessageContent } from '../../src/sending/message-content.js'
import { createEmailTracker } from '../../src/tracking/track-email.js'

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
    const job = { content, email, hostname: 'mail.test' }
    const here = composeContent(job, createEmailTracker({ trackingBaseFor: () => base, publicUrl: base }))
    const there = await thread.compose({ ...job, base, publicUrl: base })
    t.ok(Buffer.isBuffer(there.raw))
    t.ok(here.raw.equals(there.raw), 'the same bytes')
    t.strictSame({ ...there, raw: null }, { ...here, raw: null })
  }
  t.ok(contents[3]?.attachments[0]?.content.length, 'files of the caller are copied')
})

t.test('what takes long is large', (t) => {
  const html = '<p>word</p>'.repeat(2_000)
  t.equal(isLargeContent(small), false)
  t.equal(isLargeContent({ ...small, html, text: 'x' }), false, 'only encoded')
  t.equal(isLargeContent({ ...small, html }), true, 'a text is made from it')
  t.equal(isLargeContent({ ...small, html: html.repeat(4), text: 'x' }), true)
  t.equal(isLargeContent({ ...small, attachments: [file(70_000)] }), true)
  t.end()
})

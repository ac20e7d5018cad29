// What the messages of a broadcast cost: composing the frame once, then the values and the bytes of each message, beside
// composing every message as a whole. Processor time of this process, the mean of many messages.
import { createSecretKey } from 'node:crypto'
import { BroadcastComposer } from '../../../dist/src/outbound/broadcasts/compose-broadcast.js'
import { ContactMessages } from '../../../dist/src/outbound/broadcasts/contact-message.js'
import { composeMessage } from '../../../dist/src/outbound/sending/compose-message.js'
import { EmailTracker } from '../../../dist/src/outbound/tracking/track-email.js'
import { buildFramed } from '../../../dist/src/records/messages/frames/message-frame.js'

const base = 'https://mail.example.test'
const composer = new BroadcastComposer('mail.example.test', base, { baseFor: () => base })
const messagesOfContacts = new ContactMessages(createSecretKey(Buffer.alloc(32, 7)), base)
const broadcastId = '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee'
const ids = { broadcastId, audienceId: '0192aaaa-bbbb-7ccc-8ddd-aaaaaaaaaaaa' }
const message = { emailId: `bc-${broadcastId}`, recipientId: broadcastId, now: Date.UTC(2026, 10, 21) }
const sender = { address: 'news@example.test', name: 'News' }

const paragraph =
  '<p style="padding:10px 20px;font-family:Arial,sans-serif;color:#333333">A text of some length &amp; more of it.</p>\r\n'

/** HTML of about `size` bytes with five variables and ten links, `own` of which have a variable. */
function page(size, own) {
  const links = Array.from({ length: 10 }, (_, number) => {
    const query = number < own ? '?u={{metadata.id}}' : '?source=mail&amp;campaign=spring'
    return `<a style="color:#0000ff" href="https://shop.example.test/articles/${number}${query}">Article ${number}</a>\r\n`
  })
  const head =
    '<p>Hello {{first_name|friend}} {{last_name}} ({{email}}), {{metadata.plan}} since {{metadata.since}}</p>\r\n'
  const fill = Math.ceil((size - links.join('').length) / paragraph.length)
  return `<html><body>${head}${links.join('')}${paragraph.repeat(Math.max(fill, 0))}</body></html>\r\n`
}

const contactOf = (number) => ({
  email: `person${number}@b.test`,
  first_name: number % 3 === 0 ? 'Zoë' : 'Alexander',
  last_name: `O'Neil ${number}`,
  metadata: JSON.stringify({ id: number, plan: 'pro & more', since: '2026' }),
})

const tracker = new EmailTracker({ trackingHost: { baseFor: () => base }, publicUrl: base })

/** The same as a single email. */
function composeWhole(html, number) {
  const { email, first_name, last_name } = contactOf(number)
  const filled = html
    .replace('{{first_name|friend}}', first_name)
    .replace('{{last_name}}', last_name)
    .replace('{{email}}', email)
    .replace('{{metadata.plan}}', 'pro &amp; more')
    .replace('{{metadata.since}}', '2026')
    .replaceAll('{{metadata.id}}', String(number))
  const tracking = tracker.begin({ ...message, workspaceId: 'ws_1', domain: 'example.test', opens: true, clicks: true })
  const fields = { cc: [], bcc: [], replyTo: [], fields: [], attachments: [], inlineImages: [] }
  const content = { ...fields, from: sender, to: [{ address: email, name: `${first_name} ${last_name}` }] }
  const tracked = tracking.trackHtml(filled)
  return composeMessage(
    { ...content, subject: 'News', html: tracked, text: null },
    { ...message, hostname: 'mail.test' },
  )
}

function measureCpu(title, messages, work) {
  for (let turn = 0; turn < 200; turn += 1) work(turn)
  const before = process.cpuUsage()
  for (let turn = 0; turn < messages; turn += 1) work(turn)
  const { user, system } = process.cpuUsage(before)
  const milliseconds = (user + system) / 1000 / messages
  console.log(`${title.padEnd(58)} ${milliseconds.toFixed(4).padStart(9)} ms of CPU`)
  return { title, milliseconds }
}

export async function measureCompose({ messages }) {
  const results = []
  for (const [size, own] of [
    [20_480, 0],
    [20_480, 3],
    [102_400, 3],
  ]) {
    const html = page(size, own)
    const content = { sender, replyTo: [], subject: 'News for {{first_name|you}}', html, text: null }
    const started = performance.now()
    const { frame } = await composer.compose(content, ids)
    const name = `${Math.round(html.length / 1024)} KB, 10 links, ${own} of them with variables`
    console.log(
      `\na broadcast of ${name}: its frame takes ${(performance.now() - started).toFixed(1)} ms once; a message:`,
    )
    const { slots } = messagesOfContacts.build(frame, contactOf(1), message)
    const of = (title) => `${title}, ${name}`
    const whole = Math.min(messages, 1_000)
    results.push(
      measureCpu(of('values'), messages, (turn) => messagesOfContacts.build(frame, contactOf(turn), message)),
      measureCpu(of('bytes'), messages, () => buildFramed(frame, slots)),
      measureCpu(of('composed as a whole'), whole, (turn) => composeWhole(html, turn)),
    )
  }
  return results
}

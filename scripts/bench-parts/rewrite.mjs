// What tracking of both kinds costs the main thread a message: its HTML is rewritten, its links and edits become
// statements. Processor time of this process, the mean of many messages.
import { encode, wrap } from 'nodemailer/lib/qp'
import { scanHeader } from '../../dist/src/base/mail/header-fields.js'
import { rewriteMessage } from '../../dist/src/outbound/tracking/rewrite-message.js'
import { EmailTracker } from '../../dist/src/outbound/tracking/track-email.js'

const base = 'https://mail.example.test'
const tracker = new EmailTracker({ trackingHost: { baseFor: () => base }, publicUrl: base })
const email = {
  workspaceId: 'ws_1',
  emailId: '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee',
  domain: 'example.test',
  opens: true,
  clicks: true,
}

/** About 330 characters a link, as in newsletters. */
const row = (number) =>
  '<tr><td style="padding:10px 20px;font-family:Arial,sans-serif;color:#333333" class="wide"><p>Article number ' +
  `${number}, which has a text of some length &amp; a link.</p><a style="color:#ffffff;text-decoration:none" ` +
  `href="https://shop.example.test/articles/${number}?source=mail&amp;campaign=spring" target="_blank">Article ${number}` +
  '</a></td></tr>\r\n'
const page = (links) =>
  `<!DOCTYPE html>\r\n<html><body><table>\r\n${Array.from({ length: links }, (_, number) => row(number)).join('')}</table></body></html>\r\n`

const encoders = {
  '8bit': (html) => html,
  'quoted-printable': (html) => wrap(encode(html)),
  base64: (html) => Buffer.from(html).toString('base64').replace(/.{76}/g, '$&\r\n'),
}

function submitted(html, encoding) {
  const head = `From: a@example.test\r\nMIME-Version: 1.0\r\nContent-Type: text/html; charset=utf-8\r\nContent-Transfer-Encoding: ${encoding}\r\n\r\n`
  return Buffer.from(`${head}${encoders[encoding](html)}\r\n`)
}

/** Returns the statements of one message. */
function trackHtml(html) {
  const tracking = tracker.begin({ ...email, now: Date.now() })
  tracking.trackHtml(html)
  return tracking.collectWrites()
}

function trackMessage(raw) {
  const tracking = tracker.begin({ ...email, now: Date.now() })
  const rewritten = rewriteMessage(raw, scanHeader(raw), tracking.trackHtml)
  if (typeof rewritten === 'string') throw new Error(`not rewritten: ${rewritten}`)
  return tracking.collectWrites()
}

function measure(title, links, track, input, messages) {
  for (let turn = 0; turn < 50; turn += 1) track(input)
  let statements = 0
  const before = process.cpuUsage()
  for (let turn = 0; turn < messages; turn += 1) {
    statements = track(input).length
  }
  const { user, system } = process.cpuUsage(before)
  const milliseconds = (user + system) / 1000 / messages
  console.log(
    `${title.padEnd(34)} ${String(input.length).padStart(8)} bytes  ${milliseconds.toFixed(2).padStart(6)} ms of CPU` +
      `  ${statements} statements`,
  )
  return { title, links, bytes: input.length, milliseconds, statements }
}

export function measureRewrite({ messages }) {
  console.log('\nopens and clicks tracked, a message:')
  const results = []
  for (const links of [0, 20, 200]) {
    const html = page(links)
    results.push(measure(`REST, ${links} links`, links, trackHtml, html, messages))
    for (const encoding of Object.keys(encoders)) {
      results.push(
        measure(`SMTP, ${encoding}, ${links} links`, links, trackMessage, submitted(html, encoding), messages),
      )
    }
  }
  const largest = page(1_000)
  results.push(measure('REST, 1,000 links', 1_000, trackHtml, largest, Math.min(messages, 100)))
  results.push(
    measure(
      'SMTP, the same in quoted-printable',
      750,
      trackMessage,
      submitted(largest, 'quoted-printable'),
      Math.min(messages, 100),
    ),
  )
  return results
}

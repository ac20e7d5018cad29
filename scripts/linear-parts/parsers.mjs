/**
 * The parsers of untrusted input, each as a function of one input. A refusal is a normal result: `tolerant`
 * catches those, and nothing else.
 */
import { createSecretKey } from 'node:crypto'
import { setImmediate as yieldToEventLoop } from 'node:timers/promises'
import { SMTPStream } from 'smtp-server/lib/smtp-stream'
import { formatForDisplay, tryParseAddress, tryParseDomainName } from '../../dist/src/base/mail/address.js'
import { readFieldValue, scanHeader, scanHeaderOrEmpty } from '../../dist/src/base/mail/header-fields.js'
import { decodeHeaderText } from '../../dist/src/base/mail/header-text.js'
import { checkLinesInSteps } from '../../dist/src/base/mail/line-check.js'
import { isUnambiguous, parseMailboxList, truncateList } from '../../dist/src/base/mail/mailbox-list.js'
import { isMessageId } from '../../dist/src/base/mail/message-id.js'
import { tryParseNamedAddress } from '../../dist/src/base/mail/named-address.js'
import { readCsvRows } from '../../dist/src/base/platform/csv/rows.js'
import { readDnsReply } from '../../dist/src/base/platform/dns/message.js'
import { isQueryable, toCanonicalName } from '../../dist/src/base/platform/dns/name.js'
import { parsePhoneNumber } from '../../dist/src/base/platform/phone-number.js'
import { summarizeInbound } from '../../dist/src/inbound/receiving/analysis/inbound-content.js'
import { authenticate } from '../../dist/src/inbound/receiving/authentication/authenticate.js'
import { readAggregates } from '../../dist/src/inbound/receiving/domain-reports/read-aggregate.js'
import { readTlsReport } from '../../dist/src/inbound/receiving/domain-reports/read-tls-report.js'
import { readDomainReport } from '../../dist/src/inbound/receiving/domain-reports/report-digest.js'
import { readReport } from '../../dist/src/inbound/receiving/reports/read-report.js'
import { makeStoredForm } from '../../dist/src/inbound/receiving/threads/stored-form.js'
import { analyzeContent } from '../../dist/src/inbound/spam/content-analysis.js'
import { readClientHello } from '../../dist/src/operations/certificates/client-hello.js'
import { composeFrame } from '../../dist/src/outbound/broadcasts/compose-frame.js'
import { ContactMessages } from '../../dist/src/outbound/broadcasts/contact-message.js'
import { ReplyParser } from '../../dist/src/outbound/delivery/smtp/reply-parser.js'
import { parseReportingRecord } from '../../dist/src/outbound/delivery/tls-reports/reporting-record.js'
import { prepareMessage, summarizeMessage } from '../../dist/src/outbound/sending/prepare-message.js'
import { readServiceFields } from '../../dist/src/outbound/sending/service-headers.js'
import { findCopyFrame } from '../../dist/src/outbound/sending/token-places.js'
import { linkUrlOf } from '../../dist/src/outbound/tracking/link-url.js'
import { isMachineAgent } from '../../dist/src/outbound/tracking/machine.js'
import { toLocation } from '../../dist/src/outbound/tracking/resolve-click.js'
import { restoreHtml } from '../../dist/src/outbound/tracking/restore-html.js'
import { rewriteHtml } from '../../dist/src/outbound/tracking/rewrite-html.js'
import { rewriteMessage } from '../../dist/src/outbound/tracking/rewrite-message.js'
import { MimeReader } from '../../dist/src/records/messages/mime/mime-parts.js'
import { textOfHtml } from '../../dist/src/records/messages/mime/text-of-html.js'
import { classifyReply } from '../../dist/src/records/messages/replies/classify-reply.js'
import { parseProviderColumns, parseProviderLine } from '../../dist/src/records/suppressions/provider-files.js'
import { acceptsGzip } from '../../dist/src/servers/api/http/input/accept-encoding.js'
import { findRequestedPart } from '../../dist/src/servers/api/http/input/byte-range.js'
import { parseCallbackBody } from '../../dist/src/servers/api/http/input/callback-fields.js'
import { messageRenderer } from '../../dist/src/servers/api/message-views/message-html.js'
import { readReceiptReport as readSmsReport } from '../../dist/src/servers/api/sms/receipts.js'
import { parseQuery } from '../../dist/src/servers/dns/query.js'
import { parsePlainMail } from '../../dist/src/servers/smtp/commands/mail-command.js'
import { parsePlainRcpt } from '../../dist/src/servers/smtp/commands/rcpt-command.js'
import { startDataMode } from '../../dist/src/servers/smtp/server/smtp-connection-adapter.js'
import { IncomingMessage } from '../../dist/src/servers/smtp/session/incoming-message.js'
import { insertUnsubscribeUrl, parseTemplateText } from '../../dist/src/workspaces/content/template-text.js'
import { createTemplateStyle } from '../../dist/src/workspaces/sms/http/body-template.js'
import { toLogReason } from '../../dist/src/workspaces/sms/http/log-reason.js'
import { createTwilioStyle } from '../../dist/src/workspaces/sms/http/twilio.js'
import { buildMessageText, checkTemplate } from '../../dist/src/workspaces/sms/message-text.js'
import { decodePdu } from '../../dist/src/workspaces/sms/smpp/pdu.js'
import { readDelivery } from '../../dist/src/workspaces/sms/smpp/read-delivery.js'
import { readPdus } from '../../dist/src/workspaces/sms/smpp/read-pdus.js'
import { encodeText } from '../../dist/src/workspaces/sms/text-encoding.js'
import { lines, messages, pictures, texts } from './inputs.mjs'

const nothing = { html: null, text: null, attachments: [], headers: [] }
const shortMessage = Buffer.from('From: a@b.test\r\nSubject: x\r\n\r\n')
const parsed = (raw, parts) => ({ raw, header: scanHeaderOrEmpty(raw), parts })
const none = { kind: 'no-domain' }
const silentDns = { records: async () => none, mx: async () => none, addresses: async () => none }
const client = { clientAddress: '192.0.2.1', helo: 'client.test', envelopeFrom: 'a@b.test', hostname: 'mx.test' }
const htmlHeader = 'From: a@b.test\r\nSubject: x\r\nContent-Type: text/html\r\n\r\n'
const authentication = {
  ...{
    spf: { result: 'none', identity: 'helo', domain: '', reason: null, explanation: null },
    dkim: [],
    arc: { result: 'none', reason: null },
    iprev: { result: 'fail', name: null },
    fromFields: 1,
  },
  dmarc: { result: 'none', domain: null, policyDomain: null, policy: null, disposition: 'none', reason: null },
}
const trace = {
  ...{ returnPath: '', helo: 'client.test', address: '192.0.2.1', hostname: 'mx.test', protocol: 'ESMTP', tls: null },
  ...{ id: 'x', recipient: null, now: 0 },
}
const storedForm = (raw) => makeStoredForm({ raw, header: scanHeaderOrEmpty(raw) }, trace, authentication, client)
const circumstances = { receivedAt: 0, origin: null, authentication: null }
const reader = new MimeReader()
const rangeOf = (text) => findRequestedPart({ range: `bytes=${text}`, ifRange: text }, 1_000, '"e"')

const tolerant = (read) => async (input) => {
  try {
    await read(input)
  } catch (error) {
    if (
      !['Refusal', 'CsvFault', 'ProtocolFault', 'TypeError', 'UnreadableReport'].includes(error?.name) &&
      error?.code === undefined
    )
      throw error
  }
}

/** As bodies of deliver_sm, the largest that are read, and as texts of receipts; the stream comes in small pieces. */
async function smppUnits(octets) {
  const units = []
  for (let start = 0; start < octets.length; start += 16_000) {
    const body = octets.subarray(start, start + 16_000)
    const receipt = Buffer.from([0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x04, 0x24])
    units.push(smppUnit(body), smppUnit(Buffer.concat([receipt, lengthOf(body), body])))
  }
  for await (const unit of readPdus(inPieces(Buffer.concat(units), 50))) readDelivery(decodePdu(unit))
}

/** A record that claims to have the whole text, cut off at the limit as the connection would be. */
function helloOf(text) {
  const body = Buffer.from(text).subarray(0, 16_000)
  return readClientHello(Buffer.concat([Buffer.from([22, 3, 1]), lengthOf(body), Buffer.from([1]), body]))
}

const gatewayLogin = { username: 'account', password: 'secret', sender: 'Posthorn', body_template: '{}' }
const gatewayStyles = [createTwilioStyle(gatewayLogin), createTemplateStyle(gatewayLogin)]
const sentMessage = { text: { text: 'Your code is 048213' }, receiptUrl: 'https://a.test/v1/sms/receipts/code-1/token' }

/** As the answer of a gateway, plain and in JSON, and as what it reports. */
function gatewayTexts(text) {
  for (const body of [text, JSON.stringify({ message: text, status: text, id: text })]) {
    for (const style of gatewayStyles) {
      const outcome = style.readAnswer({ status: 400, text: body, isComplete: true })
      toLogReason(outcome.reason, sentMessage, ['account', 'secret'])
      style.readAnswer({ status: 201, text: body, isComplete: true })
    }
    readSmsReport(parseCallbackBody(Buffer.from(body)))
  }
}

function smppUnit(body) {
  const header = Buffer.alloc(16)
  header.writeUInt32BE(16 + body.length, 0)
  header.writeUInt32BE(5, 4)
  return Buffer.concat([header, body])
}

function lengthOf(body) {
  const length = Buffer.alloc(2)
  length.writeUInt16BE(body.length)
  return length
}

async function* inPieces(octets, size) {
  for (let start = 0; start < octets.length; start += size) yield octets.subarray(start, start + size)
}

/** Looked for in all encodings that a body may have. */
function findTokens(raw) {
  const all = { startFromEnd: raw.length, endFromEnd: 0 }
  for (const encoding of ['quoted-printable', 'base64']) findCopyFrame(raw, [{ encoding, ...all }], 'a2'.repeat(21))
}

/** A parse that a thread gave up after its time limit cannot be measured: this reports it. */
async function takenApart(raw) {
  const result = await reader.read('linear', () => raw)
  if (result.kind === 'unreadable' && result.why === 'time') return 'out of time'
  return undefined
}

const origin = { hostname: 'mx.test', protocol: 'ESMTPSA', emailId: 'em_1', now: 0 }

function submitted(raw) {
  const header = scanHeader(raw)
  for (const _ of checkLinesInSteps(raw, { maxLineOctets: 998 }));
  prepareMessage(raw, header, origin)
  summarizeMessage(raw, header)
}

function serviceFields(raw) {
  const header = scanHeader(raw)
  readServiceFields(
    header.fields.map((field) => ({ name: field.name, value: readFieldValue(raw, field) })),
    0,
  )
}

function addresses(text) {
  tryParseAddress(text)
  tryParseAddress(`${text}@b.test`)
  tryParseDomainName(text)
  tryParseNamedAddress(text)
  isMessageId(`<${text}>`)
  formatForDisplay(text)
  toCanonicalName(text)
  isQueryable(text)
}

/** Without the limit of a list, so that the growth below the limit is measured. */
function lists(text) {
  const value = truncateList(text)
  parseMailboxList(value)
  isUnambiguous(value)
}

const segment = 1400
const unlimited = { acquire: () => true, release: () => undefined, addHolder: () => () => undefined }

function* segments(octets) {
  for (let at = 0; at < octets.length; at += segment) yield octets.subarray(at, at + segment)
}

async function inSession(octets, data) {
  const stream = new SMTPStream()
  stream.oncommand = (_line, done) => done()
  // A line that is too long ends the session.
  let over = false
  stream.on('error', () => {
    over = true
  })
  if (data) startDataMode(stream, 35_000_000, new IncomingMessage(35_000_000, unlimited))
  for (const piece of segments(octets)) {
    if (over) break
    if (!stream.write(piece)) await yieldToEventLoop()
  }
  stream.destroy()
}

async function suppressions(text) {
  const head = 'email,reason,created\r\na@b.test,bounce,2026-01-01\r\n'
  for await (const rows of readCsvRows(Buffer.from(head + text))) {
    const columns = parseProviderColumns({ line: 1, cells: ['email', 'reason', 'created'] })
    for (const row of rows) if (columns !== null) parseProviderLine(columns, row)
  }
}

const dnsReply = (text) => {
  const octets = Buffer.from(text).subarray(0, 65_000)
  readDnsReply(Buffer.concat([Buffer.from([0, 1, 0x81, 0x80, 0, 0, 0, 50, 0, 50, 0, 0]), octets]))
  parseQuery(octets.subarray(0, 1232))
}

const emailId = '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee'
const ownUrls = { hosts: ['mail.test'], path: '' }

/** Without the limit of tracked HTML, so that the growth is measured. */
function trackHtml(html) {
  const id = '0'.repeat(36)
  const trackLink = (href) =>
    linkUrlOf(href, ownUrls) === null ? null : { id, href: `https://mail.test/v1/track/click/${id}` }
  const tracked = rewriteHtml(html, { pixel: '<img>', trackLink })
  restoreHtml(tracked.html, emailId, tracked.edits)
  return tracked.html
}

/** With a picture that is as long as the text, up to the limit: each place that names it must not repeat it. */
function documentOf(html) {
  const picture = Buffer.alloc(Math.min(html.length, 262_144)).toString('base64').replace(/.{76}/g, '$&\r\n')
  const body = Buffer.from(html).toString('base64').replace(/.{76}/g, '$&\r\n')
  const field = 'Content-Transfer-Encoding: base64\r\n'
  return messageRenderer.render(
    Buffer.from(
      `Content-Type: multipart/related; boundary=b\r\n\r\n--b\r\nContent-Type: text/html\r\n${field}\r\n${body}\r\n` +
        `--b\r\nContent-Type: image/png\r\nContent-ID: <a>\r\n${field}\r\n${picture}\r\n--b--\r\n`,
    ),
    { kind: 'message', tracked: { emailId: 'em_1', edits: '[]' } },
  )
}

const smsText = (text) => {
  encodeText(buildMessageText(text, { code: '012345', minutes: 10 }))
  checkTemplate(`{code}${text}`)
}

const publicUrl = 'https://a.test'
const ids = { broadcastId: 'b', audienceId: 'c', hostname: 'mail.a.test', publicUrl, base: publicUrl }
const frameOf = (content) =>
  composeFrame({ sender: { address: 'x@a.test', name: '' }, replyTo: [], subject: 'x', text: null, ...content }, ids)
    .frame
const greeting = frameOf({
  subject: '{{first_name}}',
  html: '{{first_name}} {{{metadata.x}}}<a href="{{metadata.x}}">x</a><a href="https://b.test/{{last_name}}">y</a>',
})
const secret = createSecretKey(Buffer.alloc(32))
const messageIds = { emailId: 'bc-x', recipientId: '0192aaaa-bbbb-7ccc-8ddd-eeeeeeeeeeee', now: 0 }

function fillGreeting(text) {
  const contact = { email: 'x@b.test', first_name: text, last_name: text, metadata: JSON.stringify({ x: text }) }
  return new ContactMessages(secret, publicUrl).build(greeting, contact, messageIds)
}

export const parsers = [
  { name: 'addresses', inputs: texts, read: tolerant(addresses) },
  { name: 'lists of addresses', inputs: texts, read: tolerant(lists) },
  { name: 'lists of addresses over the limit', inputs: texts, read: tolerant((text) => isUnambiguous(text)) },
  { name: 'header text', inputs: texts, read: tolerant((text) => decodeHeaderText(text, 1_000_000)) },
  {
    name: 'commands of SMTP',
    inputs: texts,
    read: tolerant((text) => {
      const line = Buffer.from(`MAIL FROM:<${text}>`)
      try {
        parsePlainMail(line, 1_000_000)
      } catch {}
      parsePlainRcpt(Buffer.from(`RCPT TO:<${text}>`), { smtputf8: true, utf8: true })
    }),
  },
  { name: 'lines of SMTP', inputs: lines, read: tolerant((octets) => inSession(octets, false)) },
  { name: 'DATA of SMTP', inputs: texts, read: tolerant((text) => inSession(Buffer.from(text), true)) },
  {
    name: 'replies of SMTP',
    inputs: lines,
    read: tolerant((octets) => {
      const parser = new ReplyParser()
      for (const piece of segments(octets)) parser.feed(piece)
    }),
  },
  {
    name: 'meaning of replies',
    inputs: texts,
    read: tolerant((text) => classifyReply('rcpt', { code: 550, enhanced: null, text })),
  },
  { name: 'messages of DNS', inputs: texts, read: tolerant(dnsReply) },
  { name: 'text of HTML', inputs: texts, read: tolerant(textOfHtml) },
  { name: 'documents of messages', inputs: [...texts, ...pictures], read: tolerant(documentOf) },
  { name: 'HTML to track', inputs: texts, read: tolerant(trackHtml) },
  {
    name: 'messages to track',
    inputs: messages,
    read: tolerant((raw) => rewriteMessage(raw, scanHeader(raw), trackHtml)),
  },
  { name: 'templates', inputs: texts, read: tolerant((text) => parseTemplateText('html', text)) },
  {
    name: 'unsubscribe links',
    inputs: texts,
    read: tolerant((text) => insertUnsubscribeUrl(text, 'https://a.test/v1/unsubscribe/x', 'html', () => undefined)),
  },
  { name: 'answers and reports of SMS gateways', inputs: texts, read: tolerant(gatewayTexts) },
  { name: 'content of broadcasts', inputs: texts, read: tolerant((html) => frameOf({ html })) },
  { name: 'values of contacts', inputs: texts, read: tolerant(fillGreeting) },
  { name: 'places of tokens', inputs: messages, read: tolerant(findTokens) },
  {
    name: 'CSV',
    inputs: texts,
    read: tolerant(async (text) => {
      for await (const _ of readCsvRows(Buffer.from(text)));
    }),
  },
  { name: 'imports of suppressions', inputs: texts, read: tolerant(suppressions) },
  { name: 'records of TLS reports', inputs: texts, read: tolerant((text) => parseReportingRecord(text)) },
  { name: 'phone numbers', inputs: texts, read: tolerant((text) => parsePhoneNumber(`+49${text}`)) },
  { name: 'texts of SMS', inputs: texts, read: tolerant(smsText) },
  { name: 'submitted messages', inputs: messages, read: tolerant(submitted) },
  { name: 'fields that steer', inputs: messages, read: tolerant(serviceFields) },
  {
    name: 'authentication',
    inputs: messages,
    read: tolerant((raw) => authenticate(raw, client, { resolver: silentDns, clock: () => Date.now() })),
  },
  // From 64 KB on nothing is analyzed there: a process reads the message.
  { name: 'stored form of inbound mail', inputs: messages, read: tolerant(storedForm) },
  {
    name: 'stored form of inbound mail, HTML',
    inputs: texts,
    read: tolerant((html) => storedForm(Buffer.from(`${htmlHeader}${html.slice(0, 62_000)}`))),
  },
  { name: 'record of inbound mail', inputs: messages, read: tolerant((raw) => summarizeInbound(parsed(raw, nothing))) },
  { name: 'reports', inputs: messages, read: tolerant(readReport) },
  { name: 'domain reports', inputs: messages, read: readDomainReport },
  { name: 'DMARC aggregates', inputs: texts, read: tolerant((text) => readAggregates(`<feedback><record>${text}`)) },
  { name: 'TLS reports', inputs: texts, read: tolerant(readTlsReport) },
  {
    name: 'spam rules and words, text',
    inputs: texts,
    read: tolerant((text) => analyzeContent(parsed(shortMessage, { ...nothing, text }), circumstances)),
  },
  {
    name: 'spam rules and words, HTML',
    inputs: texts,
    read: tolerant((html) => analyzeContent(parsed(shortMessage, { ...nothing, html }), circumstances)),
  },
  {
    name: 'spam rules and words, header',
    inputs: messages,
    read: tolerant((raw) => analyzeContent(parsed(raw, nothing), circumstances)),
  },
  { name: 'start of a TLS connection', inputs: texts, read: tolerant(helloOf) },
  { name: 'units of SMPP', inputs: lines, read: tolerant(smppUnits) },
  { name: 'agents of requests', inputs: texts, read: tolerant(isMachineAgent) },
  { name: 'targets of links', inputs: texts, read: tolerant((text) => toLocation(`https://b.test/${text}`)) },
  { name: 'encodings of answers', inputs: texts, read: tolerant(acceptsGzip) },
  { name: 'ranges of files', inputs: texts, read: tolerant(rangeOf) },
  { name: 'parts of a message', inputs: messages, read: takenApart },
]

export const close = () => reader.close()

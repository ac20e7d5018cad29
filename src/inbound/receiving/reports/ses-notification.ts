/**
 * Parses notifications of Amazon SES that come by mail, as SNS sends them: one JSON object, bare or in the
 * `Message` of an envelope, followed by a few lines for people.
 *
 * Bounces, delays, deliveries and complaints are read. Limits: 128 KB, 100 recipients. Never throws.
 */
import type { Address } from '../../../base/mail/address.js'
import type { Reason } from '../../../base/mail/reasons.js'
import { findReply, interpretBounce, kindOfReply, toDiagnostic } from './read-reply.js'
import { namesOnlyOthers } from './recipient-sections.js'
import type { Bounce, BounceKind, Report, ReportedHeader } from './report.js'
import { findAddresses } from './report-addresses.js'

const MAX_RECIPIENTS = 100
const MAX_FIELDS = 200

type Json = Readonly<Record<string, unknown>>

/** Subtypes that SES documents, used if the server's text does not name a reason. */
const reasonsBySubtype: Readonly<Record<string, Reason>> = {
  noemail: 'bad-mailbox',
  mailboxfull: 'mailbox-full',
  messagetoolarge: 'too-large',
  contentrejected: 'content',
  attachmentrejected: 'content',
  suppressed: 'policy',
  onaccountsuppressionlist: 'policy',
}
const bounceTypes: Readonly<Record<string, BounceKind>> = {
  permanent: 'permanent',
  transient: 'temporary',
  undetermined: 'temporary',
}

/** Null if the text is no such notification. */
export function readSesNotification(words: string): Report | null {
  const notification = findNotification(words)
  if (notification === null) return null
  const reported = reportedHeaderOf(readObject(notification, 'mail'))
  switch (readText(notification, 'notificationType') || readText(notification, 'eventType')) {
    case 'Bounce':
      return buildBounceReport(reported, readBounces(readObject(notification, 'bounce')))
    case 'DeliveryDelay':
      return buildBounceReport(reported, readDelays(readObject(notification, 'deliveryDelay')))
    case 'Delivery':
      return buildBounceReport(reported, readDeliveries(readObject(notification, 'delivery')))
    case 'Complaint':
      return buildComplaint(reported, readObject(notification, 'complaint'))
    default:
      return null
  }
}

function findNotification(words: string): Json | null {
  const text = words.trimStart()
  if (!text.startsWith('{') || !/"(notificationType|eventType|Message)"/.test(text)) return null
  const object = parseJson(text.slice(0, text.lastIndexOf('}') + 1))
  const inner = object === null ? '' : readText(object, 'Message')
  return inner === '' ? object : parseJson(inner)
}

/** Line breaks inserted by relays are removed: between tokens they have no meaning, and strings contain none. */
function parseJson(text: string): Json | null {
  for (const candidate of [text, text.replace(/!?\r?\n[ \t]?/g, '')]) {
    try {
      const value: unknown = JSON.parse(candidate)
      return isObject(value) ? value : null
    } catch {}
  }
  return null
}

function readBounces(bounce: Json): readonly Bounce[] {
  const type = readText(bounce, 'bounceType').toLowerCase()
  const reason = reasonsBySubtype[readText(bounce, 'bounceSubType').toLowerCase()] ?? null
  return readRecipients(bounce, 'bouncedRecipients').map((recipient) => {
    const said = diagnosticOf(recipient)
    const kind = kindOfReply(said.status, findReply(said.diagnostic)) ?? bounceTypes[type] ?? 'permanent'
    const notification = buildBounce(recipient, kind)
    if (reason === null || notification.reason !== 'unclassified') return notification
    return { ...notification, reason, recipientsFault: kind === 'permanent' && reason === 'bad-mailbox' }
  })
}

function readDelays(delay: Json): readonly Bounce[] {
  return readRecipients(delay, 'delayedRecipients').map((recipient) => buildBounce(recipient, 'delayed'))
}

function readDeliveries(delivery: Json): readonly Bounce[] {
  const diagnostic = readText(delivery, 'smtpResponse')
  return readList(delivery, 'recipients')
    .slice(0, MAX_RECIPIENTS)
    .map((address) => ({
      ...interpretBounce({ kind: 'delivered', status: null, diagnostic }),
      recipient: findAddresses(typeof address === 'string' ? address : '', 1)[0] ?? null,
      original: null,
    }))
}

function buildBounce(recipient: Json, kind: BounceKind): Bounce {
  const address = addressOf(recipient)
  const meaning = interpretBounce({ kind, ...diagnosticOf(recipient) })
  const recipientsFault = meaning.recipientsFault && !namesOnlyOthers(meaning.diagnostic, [address])
  return { recipient: address, original: null, ...meaning, recipientsFault }
}

function diagnosticOf(recipient: Json): { readonly status: string | null; readonly diagnostic: string } {
  const status = /^\s{0,8}([245]\.\d{1,3}\.\d{1,3})\b/.exec(readText(recipient, 'status'))?.[1] ?? null
  return { status, diagnostic: toDiagnostic(readText(recipient, 'diagnosticCode')).replace(/^[\w-]{1,40} ?; ?/, '') }
}

function buildComplaint(reported: ReportedHeader, fields: Json): Report {
  const type = readText(fields, 'complaintFeedbackType').toLowerCase()
  return {
    type: 'complaint',
    feedbackType: /^[a-z][a-z-]{0,60}$/.test(type) ? type : 'abuse',
    recipients: readRecipients(fields, 'complainedRecipients').flatMap((recipient) => addressOf(recipient) ?? []),
    mailFrom: null,
    reported,
  }
}

function buildBounceReport(reported: ReportedHeader, notification: readonly Bounce[]): Report | null {
  return notification.length === 0 ? null : { type: 'bounce', bounces: notification, envid: null, reported }
}

function addressOf(recipient: Json): Address | null {
  return findAddresses(readText(recipient, 'emailAddress'), 1)[0] ?? null
}

/** The header fields of the message, as far as SES includes them. */
function reportedHeaderOf(mail: Json): ReportedHeader {
  return readList(mail, 'headers')
    .filter(isObject)
    .slice(0, MAX_FIELDS)
    .map((field) => ({
      name: readText(field, 'name').toLowerCase(),
      value: readText(field, 'value'),
    }))
}

function readRecipients(object: Json, key: string): readonly Json[] {
  return readList(object, key).filter(isObject).slice(0, MAX_RECIPIENTS)
}

function readList(object: Json, key: string): readonly unknown[] {
  const value = object[key]
  return Array.isArray(value) ? value : []
}

function readObject(object: Json, key: string): Json {
  const value = object[key]
  return isObject(value) ? value : {}
}

function readText(object: Json, key: string): string {
  const value = object[key]
  return typeof value === 'string' ? value : ''
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

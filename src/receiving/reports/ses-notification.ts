/**
 * Notifications of Amazon SES that come by mail, as SNS sends them: one JSON object, bare or in the
 * `Message` of an envelope, then a few lines for people.
 *
 * Bounces, delays, deliveries and complaints; a notification of anything else is none. The part is at most
 * 128 KB; 100 recipients count. Never throws.
 */
import type { Address } from '../../mail/address.js'
import type { Reason } from '../../messages/replies/reasons.js'
import { namesOthersAlone } from './about-recipient.js'
import { kindOf, meaningOf, oneLineOf, quotedReply } from './read-reply.js'
import type { Bounce, BounceKind, Report, ReportedHeader } from './report.js'
import { addressesIn } from './report-addresses.js'

const MAX_RECIPIENTS = 100
const MAX_FIELDS = 200

type Json = Readonly<Record<string, unknown>>

/** Subtypes that SES documents, for what the server's own words leave open. */
const subtypes: Readonly<Record<string, Reason>> = {
  noemail: 'bad-mailbox',
  mailboxfull: 'mailbox-full',
  messagetoolarge: 'too-large',
  contentrejected: 'content',
  attachmentrejected: 'content',
  suppressed: 'policy',
  onaccountsuppressionlist: 'policy',
}
const stated: Readonly<Record<string, BounceKind>> = {
  permanent: 'permanent',
  transient: 'temporary',
  undetermined: 'temporary',
}

/** Null: the words are no such notification. */
export function readSesNotification(words: string): Report | null {
  const found = notificationIn(words)
  if (found === null) return null
  const reported = reportedOf(objectIn(found, 'mail'))
  switch (textIn(found, 'notificationType') || textIn(found, 'eventType')) {
    case 'Bounce':
      return bounces(reported, bounced(objectIn(found, 'bounce')))
    case 'DeliveryDelay':
      return bounces(reported, delayed(objectIn(found, 'deliveryDelay')))
    case 'Delivery':
      return bounces(reported, delivered(objectIn(found, 'delivery')))
    case 'Complaint':
      return complaint(reported, objectIn(found, 'complaint'))
    default:
      return null
  }
}

function notificationIn(words: string): Json | null {
  const text = words.trimStart()
  if (!text.startsWith('{') || !/"(notificationType|eventType|Message)"/.test(text)) return null
  const object = parsed(text.slice(0, text.lastIndexOf('}') + 1))
  const inner = object === null ? '' : textIn(object, 'Message')
  return inner === '' ? object : parsed(inner)
}

/** Lines that a relay has broken are joined: between tokens a line's end means nothing, and strings hold none. */
function parsed(text: string): Json | null {
  for (const candidate of [text, text.replace(/!?\r?\n[ \t]?/g, '')]) {
    try {
      const value: unknown = JSON.parse(candidate)
      return isObject(value) ? value : null
    } catch {}
  }
  return null
}

function bounced(bounce: Json): readonly Bounce[] {
  const type = textIn(bounce, 'bounceType').toLowerCase()
  const reason = subtypes[textIn(bounce, 'bounceSubType').toLowerCase()] ?? null
  return recipientsIn(bounce, 'bouncedRecipients').map((recipient) => {
    const said = saidOf(recipient)
    const kind = kindOf(said.status, quotedReply(said.diagnostic)) ?? stated[type] ?? 'permanent'
    const found = bounceOf(recipient, kind)
    if (reason === null || found.reason !== 'unclassified') return found
    return { ...found, reason, recipientsFault: kind === 'permanent' && reason === 'bad-mailbox' }
  })
}

function delayed(delay: Json): readonly Bounce[] {
  return recipientsIn(delay, 'delayedRecipients').map((recipient) => bounceOf(recipient, 'delayed'))
}

function delivered(delivery: Json): readonly Bounce[] {
  const diagnostic = textIn(delivery, 'smtpResponse')
  return listIn(delivery, 'recipients')
    .slice(0, MAX_RECIPIENTS)
    .map((address) => ({
      ...meaningOf({ kind: 'delivered', status: null, diagnostic }),
      recipient: addressesIn(typeof address === 'string' ? address : '', 1)[0] ?? null,
      original: null,
    }))
}

function bounceOf(recipient: Json, kind: BounceKind): Bounce {
  const address = addressOf(recipient)
  const meaning = meaningOf({ kind, ...saidOf(recipient) })
  const recipientsFault = meaning.recipientsFault && !namesOthersAlone(meaning.diagnostic, [address])
  return { recipient: address, original: null, ...meaning, recipientsFault }
}

function saidOf(recipient: Json): { readonly status: string | null; readonly diagnostic: string } {
  const status = /^\s{0,8}([245]\.\d{1,3}\.\d{1,3})\b/.exec(textIn(recipient, 'status'))?.[1] ?? null
  return { status, diagnostic: oneLineOf(textIn(recipient, 'diagnosticCode')).replace(/^[\w-]{1,40} ?; ?/, '') }
}

function complaint(reported: ReportedHeader, fields: Json): Report {
  const type = textIn(fields, 'complaintFeedbackType').toLowerCase()
  return {
    type: 'complaint',
    feedbackType: /^[a-z][a-z-]{0,60}$/.test(type) ? type : 'abuse',
    recipients: recipientsIn(fields, 'complainedRecipients').flatMap((recipient) => addressOf(recipient) ?? []),
    mailFrom: null,
    reported,
  }
}

function bounces(reported: ReportedHeader, found: readonly Bounce[]): Report | null {
  return found.length === 0 ? null : { type: 'bounce', bounces: found, envid: null, reported }
}

function addressOf(recipient: Json): Address | null {
  return addressesIn(textIn(recipient, 'emailAddress'), 1)[0] ?? null
}

/** The header fields of the message, as far as SES passes them on. */
function reportedOf(mail: Json): ReportedHeader {
  return listIn(mail, 'headers')
    .filter(isObject)
    .slice(0, MAX_FIELDS)
    .map((field) => ({
      name: textIn(field, 'name').toLowerCase(),
      value: textIn(field, 'value'),
    }))
}

function recipientsIn(object: Json, key: string): readonly Json[] {
  return listIn(object, key).filter(isObject).slice(0, MAX_RECIPIENTS)
}

function listIn(object: Json, key: string): readonly unknown[] {
  const value = object[key]
  return Array.isArray(value) ? value : []
}

function objectIn(object: Json, key: string): Json {
  const value = object[key]
  return isObject(value) ? value : {}
}

function textIn(object: Json, key: string): string {
  const value = object[key]
  return typeof value === 'string' ? value : ''
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

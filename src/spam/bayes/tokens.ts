/**
 * What the classifier counts of a message: distinct tokens, at most 1,000 of at most 64 characters.
 *
 * Words of the visible text stand for themselves; everything else bears a mark of where it was
 * found, so that a word of the subject is another token than the same word of the text. What
 * comes first has its place first: header, subject, addresses of links, then the text.
 *
 * Left out on purpose: fields of the way (Received, Delivered-To, …) and other filters' verdicts,
 * which tell who received a message and not what it is; and origin and authentication, which a
 * message learned from a file does not have, so that having them would mean something.
 */

import type { SpamMessage } from '../spam-message.js'
import { readableHtml } from './html.js'
import { wordsOf } from './words.js'

const MAX_TOKENS = 1000
const MAX_TOKEN = 64
const MAX_FIELDS = 200
const MAX_VALUE = 500
const MAX_ADDRESSES = 100
const MAX_TEXT = 65_536

export function bayesTokens(message: SpamMessage): readonly string[] {
  const tokens = new Set<string>()
  const html = message.html === null ? null : readableHtml(message.html)
  const text = [message.text?.slice(0, MAX_TEXT) ?? '', html?.text ?? '']
  const groups = [
    fieldTokens(message),
    personTokens(message),
    marked('subject', wordsOf(message.subject.slice(0, MAX_VALUE), 60)),
    attachmentTokens(message),
    shapeTokens(message),
    linkTokens([...addressesIn(text[0] ?? ''), ...(html?.addresses ?? [])]),
    ...text.map((part) => wordsOf(part, 10 * MAX_TOKENS)),
  ]
  for (const group of groups) {
    for (const token of group) {
      if (tokens.size >= MAX_TOKENS) return [...tokens]
      tokens.add(token.slice(0, MAX_TOKEN))
    }
  }
  return [...tokens]
}

function marked(mark: string, words: readonly string[]): string[] {
  return words.map((word) => `${mark}:${word}`)
}

/** Written by those who carried or judged the message, or by the reader's own program. */
const ofTheWay =
  /^(?:received|return-path|delivered-to|envelope-to|x-original-to|x-envelope-.*|x-spam.*|x-bogosity|x-rspam.*|authentication-results|received-spf|arc-.*|status|x-status|x-keywords|x-uid.*|x-pyzor|x-virus.*|x-amavis.*|content-length|lines)$/

/**
 * Programs of mailing lists write ten of these at once. Counted as one: each alone would say "ham"
 * again, and spam that came over a list would be lost among them.
 */
const ofLists = /^(?:list-.*|x-mailman.*|x-been-?there|x-list.*|x-loop|errors-to|precedence|sender|mailing-list)$/

/** Fields whose values are alike in what one sender, or one program, writes. */
const telling: Readonly<Record<string, string>> = {
  'x-mailer': 'mailer',
  'user-agent': 'mailer',
  'content-type': 'type',
  'content-transfer-encoding': 'encoding',
  'x-priority': 'priority',
  organization: 'organization',
}

function fieldTokens({ fields }: SpamMessage): string[] {
  return fields.slice(0, MAX_FIELDS).flatMap(({ name, value }) => {
    if (ofTheWay.test(name)) return []
    if (ofLists.test(name)) return ['field:list']
    const mark = telling[name]
    const known = mark === undefined ? [] : marked(mark, valueWords(name, value.slice(0, MAX_VALUE)))
    return [`field:${name}`, ...known, ...dateTokens(name, value)]
  })
}

function valueWords(name: string, value: string): string[] {
  // A boundary is another in every message; its words would be noise.
  const plain = name === 'content-type' ? value.replace(/boundary\s*=\s*(?:"[^"]*"|\S+)/i, ' ') : value
  return (
    plain
      .toLowerCase()
      .match(/[a-z0-9_/.=-]+/g)
      ?.slice(0, 20) ?? []
  )
}

function dateTokens(name: string, value: string): string[] {
  if (name !== 'date') return []
  return [`zone:${/[+-]\d{4}\b|\b[A-Z]{3,4}\b(?!.*[A-Z]{3})/.exec(value.slice(16, 60))?.[0] ?? 'none'}`]
}

function personTokens({ from, replyTo, to, fields }: SpamMessage): string[] {
  const messageId = fields.find(({ name }) => name === 'message-id')?.value.slice(0, MAX_VALUE) ?? ''
  return [
    ...from
      .slice(0, 3)
      .flatMap(({ address, name }) => [
        ...hostTokens('from', hostOf(address ?? '')),
        `sender:${(address ?? '').toLowerCase()}`,
        ...marked('from-name', wordsOf(name.slice(0, MAX_VALUE), 10)),
      ]),
    ...replyTo.slice(0, 3).flatMap(({ address }) => hostTokens('reply-to', hostOf(address ?? ''))),
    ...hostTokens('message-id', hostOf(messageId)),
    `to:${Math.min(to.length, 5)}`,
    ...to.slice(0, 3).map(({ name }) => `to-name:${name === '' ? 'none' : 'some'}`),
  ]
}

function hostOf(address: string): string {
  return /@([^@<>\s]+)/.exec(address)?.[1]?.toLowerCase() ?? ''
}

/** A name and its parents, down to the two labels that somebody registered. */
function hostTokens(mark: string, host: string): string[] {
  if (host === '') return [`${mark}:none`]
  const labels = host.slice(-MAX_TOKEN).split('.').slice(-4)
  const names = labels.map((_, at) => labels.slice(at).join('.'))
  return marked(mark, names.length > 1 ? names.slice(0, -1) : names)
}

function attachmentTokens({ attachments }: SpamMessage): string[] {
  return attachments.slice(0, 20).flatMap(({ filename, contentType }) => {
    const extension = /\.([a-z0-9]{1,8})$/i.exec(filename?.slice(-20) ?? '')?.[1]?.toLowerCase()
    return [`attached:${contentType}`, ...(extension === undefined ? [] : [`attached:.${extension}`])]
  })
}

function shapeTokens({ text, html, attachments }: SpamMessage): string[] {
  const parts = [text === null ? '' : 'text', html === null ? '' : 'html', attachments.length === 0 ? '' : 'files']
  return [`parts:${parts.join('+')}`]
}

const written = /(?:https?:\/\/|www\.)[^\s<>"']{1,1000}/gi

function addressesIn(text: string): string[] {
  return text.match(written)?.slice(0, MAX_ADDRESSES) ?? []
}

function linkTokens(addresses: readonly string[]): string[] {
  return addresses.slice(0, 2 * MAX_ADDRESSES).flatMap((address) => {
    const scheme = /^([a-z]{2,10}):/i.exec(address)?.[1]?.toLowerCase() ?? ''
    if (scheme !== '' && !/^(?:https?|ftp)$/.test(scheme)) return [`link:${scheme}:`]
    const [, host = '', rest = ''] = /^(?:[a-z]+:)?(?:\/\/)?(?:[^/?#@]*@)?([^/?#:]*)([\s\S]*)$/i.exec(address) ?? []
    if (!host.includes('.')) return ['link:inside']
    const numeric = /^[\d.]+$/.test(host) ? ['link:number'] : []
    return [
      ...hostTokens('link', host.toLowerCase()),
      ...numeric,
      ...marked('path', wordsOf(rest.replace(/[._-]+/g, ' ').slice(0, 200), 10)),
    ]
  })
}

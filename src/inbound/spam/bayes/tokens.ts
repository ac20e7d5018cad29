/**
 * The tokens that the classifier counts of a message: distinct, at most 1,000, of at most 64 characters.
 *
 * Words of the visible text stand as they are; every other token has a prefix for its origin, so a word in the
 * subject is a different token from the same word in the text. Earlier groups have priority: header, subject,
 * addresses of links, then the text.
 *
 * Left out on purpose are trace fields (Received, Delivered-To, …) and verdicts of other filters, which describe
 * the recipient and not the message; and origin and authentication, which a message learned from a file lacks, so
 * that their presence alone would be a signal.
 */
import type { SpamMessage } from '../facts/spam-message.js'
import { readVisibleHtml } from './html.js'
import { TokenKeys } from './token-keys.js'
import { readWords, type ScannedText, splitWords, type WordReader } from './words.js'

const MAX_TOKENS = 1000
const MAX_TOKEN_LENGTH = 64
const MAX_FIELDS = 200
const MAX_VALUE = 500
const MAX_URLS = 100
const MAX_TEXT = 65_536

export function tokenizeMessage(message: SpamMessage): readonly string[] {
  const list = new TokenList()
  readTokens(message, list)
  return [...list.tokens]
}

class TokenList implements WordReader {
  readonly tokens = new Set<string>()

  get isFull(): boolean {
    return this.tokens.size >= MAX_TOKENS
  }

  add(token: string): void {
    if (!this.isFull) this.tokens.add(token)
  }

  addPlain({ text }: ScannedText, start: number, end: number): void {
    this.add(text.slice(start, end).toLowerCase())
  }
}

/** The keys of one message after the other. */
const keys = new TokenKeys(MAX_TOKENS)

/** The distinct keys of the tokens, packed, in base64. No string is made of a word. */
export function packTokenKeys(message: SpamMessage): string {
  keys.clear()
  readTokens(message, keys)
  return keys.toBase64()
}

function readTokens(message: SpamMessage, reader: WordReader): void {
  const html = message.html === null ? null : readVisibleHtml(message.html)
  const text = message.text?.slice(0, MAX_TEXT) ?? ''
  const groups = [
    tokenizeFields(message),
    tokenizeMailboxes(message),
    prefixWords('subject', splitWords(message.subject.slice(0, MAX_VALUE), 60)),
    tokenizeAttachments(message),
    tokenizeStructure(message),
    tokenizeLinks([...findUrls(text), ...(html?.urls ?? [])]),
  ]
  for (const group of groups) for (const token of group) reader.add(token.slice(0, MAX_TOKEN_LENGTH))
  for (const part of [text, html?.text ?? '']) readWords(part, 10 * MAX_TOKENS, reader)
}

function prefixWords(mark: string, words: readonly string[]): string[] {
  return words.map((word) => `${mark}:${word}`)
}

/** Fields added in transit, by filters, or by the recipient's mail program. */
const transitFields =
  /^(?:received|return-path|delivered-to|envelope-to|x-original-to|x-envelope-.*|x-spam.*|x-bogosity|x-rspam.*|authentication-results|received-spf|arc-.*|status|x-status|x-keywords|x-uid.*|x-pyzor|x-virus.*|x-amavis.*|content-length|lines)$/

/**
 * Mailing list programs write about ten of these at once. They count as one token. Otherwise each would say "ham"
 * again, and spam sent through a list would be lost among them.
 */
const listFields = /^(?:list-.*|x-mailman.*|x-been-?there|x-list.*|x-loop|errors-to|precedence|sender|mailing-list)$/

/** Fields that have the same values in all mail of one sender or one program. */
const valueFields: ReadonlyMap<string, string> = new Map([
  ['x-mailer', 'mailer'],
  ['user-agent', 'mailer'],
  ['content-type', 'type'],
  ['content-transfer-encoding', 'encoding'],
  ['x-priority', 'priority'],
  ['organization', 'organization'],
])

function tokenizeFields({ fields }: SpamMessage): string[] {
  const tokens: string[] = []
  for (const { name, value } of fields.slice(0, MAX_FIELDS)) {
    if (transitFields.test(name)) continue
    if (listFields.test(name)) {
      tokens.push('field:list')
      continue
    }
    tokens.push(`field:${name}`)
    const mark = valueFields.get(name)
    if (mark !== undefined) tokens.push(...prefixWords(mark, splitValue(name, value.slice(0, MAX_VALUE))))
    if (name === 'date') tokens.push(tokenizeDate(value))
  }
  return tokens
}

function splitValue(name: string, value: string): string[] {
  // Boundaries differ in every message; their words would be noise.
  const plain = name === 'content-type' ? value.replace(/boundary\s*=\s*(?:"[^"]*"|\S+)/i, ' ') : value
  return (
    plain
      .toLowerCase()
      .match(/[a-z0-9_/.=-]+/g)
      ?.slice(0, 20) ?? []
  )
}

function tokenizeDate(value: string): string {
  return `zone:${/[+-]\d{4}\b|\b[A-Z]{3,4}\b(?!.*[A-Z]{3})/.exec(value.slice(16, 60))?.[0] ?? 'none'}`
}

function tokenizeMailboxes({ from, replyTo, to, fields }: SpamMessage): string[] {
  const messageId = fields.find(({ name }) => name === 'message-id')?.value.slice(0, MAX_VALUE) ?? ''
  return [
    ...from
      .slice(0, 3)
      .flatMap(({ address, name }) => [
        ...tokenizeHost('from', hostOf(address ?? '')),
        `sender:${(address ?? '').toLowerCase()}`,
        ...prefixWords('from-name', splitWords(name.slice(0, MAX_VALUE), 10)),
      ]),
    ...replyTo.slice(0, 3).flatMap(({ address }) => tokenizeHost('reply-to', hostOf(address ?? ''))),
    ...tokenizeHost('message-id', hostOf(messageId)),
    `to:${Math.min(to.length, 5)}`,
    ...to.slice(0, 3).map(({ name }) => `to-name:${name === '' ? 'none' : 'some'}`),
  ]
}

function hostOf(address: string): string {
  return /@([^@<>\s]+)/.exec(address)?.[1]?.toLowerCase() ?? ''
}

/** A host name and its parents, down to the two labels of a registered domain. */
function tokenizeHost(mark: string, host: string): string[] {
  if (host === '') return [`${mark}:none`]
  const labels = host.slice(-MAX_TOKEN_LENGTH).split('.').slice(-4)
  const names = labels.map((_, at) => labels.slice(at).join('.'))
  return prefixWords(mark, names.length > 1 ? names.slice(0, -1) : names)
}

function tokenizeAttachments({ attachments }: SpamMessage): string[] {
  return attachments.slice(0, 20).flatMap(({ filename, contentType }) => {
    const extension = /\.([a-z0-9]{1,8})$/i.exec(filename?.slice(-20) ?? '')?.[1]?.toLowerCase()
    return [`attached:${contentType}`, ...(extension === undefined ? [] : [`attached:.${extension}`])]
  })
}

function tokenizeStructure({ text, html, attachments }: SpamMessage): string[] {
  const parts = [text === null ? '' : 'text', html === null ? '' : 'html', attachments.length === 0 ? '' : 'files']
  return [`parts:${parts.join('+')}`]
}

const urlPattern = /(?:https?:\/\/|www\.)[^\s<>"']{1,1000}/gi

function findUrls(text: string): string[] {
  if (!text.includes('://') && !/www\./i.test(text)) return []
  return text.match(urlPattern)?.slice(0, MAX_URLS) ?? []
}

function tokenizeLinks(addresses: readonly string[]): string[] {
  return addresses.slice(0, 2 * MAX_URLS).flatMap((address) => {
    const scheme = /^([a-z]{2,10}):/i.exec(address)?.[1]?.toLowerCase() ?? ''
    if (scheme !== '' && !/^(?:https?|ftp)$/.test(scheme)) return [`link:${scheme}:`]
    const [, host = '', rest = ''] = /^(?:[a-z]+:)?(?:\/\/)?(?:[^/?#@]*@)?([^/?#:]*)([\s\S]*)$/i.exec(address) ?? []
    if (!host.includes('.')) return ['link:inside']
    const numeric = /^[\d.]+$/.test(host) ? ['link:number'] : []
    return [
      ...tokenizeHost('link', host.toLowerCase()),
      ...numeric,
      ...prefixWords('path', splitWords(rest.replace(/[._-]+/g, ' ').slice(0, 200), 10)),
    ]
  })
}

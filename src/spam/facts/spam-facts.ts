/**
 * What several rules need of a message, found out once. Pure; every part of it is bounded.
 *
 * Limits: of each body the first 40,000 characters. Rules on wording see 6,000 from the beginning, where
 * a message says what it wants, and 2,000 from the end, where it says how to be left alone: a
 * long letter holds every word once.
 */
import { type Address, domainOf, localPartOf } from '../../mail/address.js'
import type { SpamField, SpamMessage } from '../spam-message.js'
import { isThrowawayDomain } from './host-kinds.js'
import { type HtmlFacts, htmlFacts } from './html-facts.js'
import { type PageFacts, pageFacts } from './page-facts.js'
import { formUrls, type PretenceFacts, pretenceFacts } from './pretence-facts.js'
import { asRead } from './script-facts.js'
import { imageUrls, linkUrls, registered, type SpamUrl, textUrls } from './url-facts.js'

const MAX_BODY = 40_000
const BEGINNING = 6_000
const END = 2_000

export interface SpamFacts {
  readonly message: SpamMessage
  /** By name, in their order. */
  readonly fields: ReadonlyMap<string, readonly string[]>
  readonly html: HtmlFacts
  /** Of the subject and both bodies as people see them; blanks are single. */
  readonly words: string
  /** The beginning and the end of `words`, in lower case. */
  readonly lower: string
  /** The text part, or what the HTML shows where there is none. */
  readonly body: string
  /** Links of the HTML, and what stands in the text. */
  readonly urls: readonly SpamUrl[]
  readonly images: readonly SpamUrl[]
  /** Where forms send what is filled in. */
  readonly forms: readonly SpamUrl[]
  /** The author or a link is of a top-level domain where names are bought to be thrown away. */
  readonly throwaway: boolean
  readonly pretence: PretenceFacts
  /** Of web pages that are attached. */
  readonly page: PageFacts
  /** Of the only or first author. */
  readonly author: Author | null
}

export interface Author {
  readonly address: Address
  readonly name: string
  readonly local: string
  readonly domain: string
  /** Domain that is registered. */
  readonly organization: string
}

export function spamFacts(message: SpamMessage): SpamFacts {
  const html = htmlFacts(message.html ?? '')
  const text = message.text?.slice(0, MAX_BODY) ?? ''
  const words = readable(`${message.subject}\n${text}\n${html.visible.slice(0, MAX_BODY)}`)
  const lower = ends(words).toLowerCase()
  const urls = [...linkUrls(html.links), ...textUrls(message.text ?? '')]
  const author = authorOf(message)
  const domain = author?.domain ?? null
  return {
    message,
    fields: byName(message.fields),
    html,
    words,
    lower,
    body: text.trim() === '' ? html.visible.slice(0, MAX_BODY) : text,
    urls,
    images: imageUrls(html.images),
    forms: formUrls(html.actions),
    throwaway: [domain ?? '', ...urls.map(({ host }) => host)].some(isThrowawayDomain),
    pretence: pretenceFacts({ from: message.from, subject: message.subject, domain, lower, urls }),
    page: pageFacts(message.pages),
    author,
  }
}

/** Values of the field's first; empty where it is missing. */
export function first(facts: SpamFacts, name: string): string {
  return facts.fields.get(name)?.[0] ?? ''
}

export function count(facts: SpamFacts, name: string): number {
  return facts.fields.get(name)?.length ?? 0
}

function ends(words: string): string {
  return words.length <= BEGINNING + END ? words : `${words.slice(0, BEGINNING)} ${words.slice(-END)}`
}

function readable(text: string): string {
  return asRead(text).replace(/\s+/g, ' ').trim()
}

function byName(fields: readonly SpamField[]): ReadonlyMap<string, readonly string[]> {
  const all = new Map<string, string[]>()
  for (const { name, value } of fields) {
    const values = all.get(name)
    if (values === undefined) all.set(name, [value])
    else values.push(value)
  }
  return all
}

function authorOf({ from }: SpamMessage): Author | null {
  for (const { address, name } of from) {
    if (address === null) continue
    const domain = domainOf(address)
    return { address, name, local: localPartOf(address), domain, organization: registered(domain) }
  }
  return null
}

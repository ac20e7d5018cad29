/**
 * The web addresses of a message's links, pictures and plain text, parsed.
 *
 * Limits: 500 of each kind, 2,000 characters each, the first 256 KB of text.
 */
import { domainToASCII } from 'node:url'
import { findOwnerDomain } from '../../../base/mail/public-suffix.js'
import type { HtmlLink } from './html-facts.js'

const MAX_URLS = 500
const MAX_TEXT = 262_144
const MAX_URL = 2_000

export interface SpamUrl {
  /** The message's own spelling. */
  readonly href: string
  readonly scheme: string
  /** The part of the authority before `@`. Empty if there is none. */
  readonly user: string
  /** The host in lower case, without the port. */
  readonly host: string
  readonly port: string
  readonly path: string
  /** The registered domain; the host if there is none, as for an IP address. */
  readonly organization: string
  /** The text shown in its place. Null if the address itself is shown. */
  readonly text: string | null
}

const urlPattern =
  /^([a-z][a-z0-9+.-]{0,20}):\/{0,4}(?:([^/?#@]{0,500})@)?([^/?#:@]{0,300})(?::(\d{0,6}))?([/?#].*)?$/is

/** Null if it is not a web address. */
export function parseSpamUrl(href: string, text: string | null): SpamUrl | null {
  const written = href
    .slice(0, MAX_URL)
    .replace(/[\t\r\n]/g, '')
    .trim()
  const match = urlPattern.exec(written)
  if (match === null) return null
  const [, scheme = '', user = '', host = '', port = '', path = ''] = match
  const lower = host.toLowerCase()
  if (!/^(?:https?|ftp)$/i.test(scheme)) return null
  return {
    href: written,
    scheme: scheme.toLowerCase(),
    user,
    host: lower,
    port,
    path,
    organization: registeredDomainOf(lower),
    text,
  }
}

export function parseLinkUrls(links: readonly HtmlLink[]): readonly SpamUrl[] {
  return links.flatMap(({ href, text }) => parseSpamUrl(href, text.replace(/\s+/g, ' ').trim()) ?? [])
}

export function parseImageUrls(images: readonly string[]): readonly SpamUrl[] {
  return images.flatMap((source) => parseSpamUrl(source, null) ?? [])
}

export function findTextUrls(text: string): readonly SpamUrl[] {
  const urls: SpamUrl[] = []
  for (const [written] of text.slice(0, MAX_TEXT).matchAll(/\bhttps?:\/\/[^\s<>"'\])]{1,2000}/gi)) {
    const url = parseSpamUrl(written.replace(/[.,;:!?]{1,20}$/, ''), null)
    if (url !== null) urls.push(url)
    if (urls.length === MAX_URLS) break
  }
  return urls
}

/**
 * The domain that a link's text names, as a person reads it: an address or a bare `www.` name. Null if it names none.
 */
export function findShownDomain(words: string): string | null {
  const found = /^(?:https?:\/\/|www\.)((?:[\p{L}\p{N}_-]{1,63}\.){1,8}[\p{L}]{2,24})(?=[/:?#\s]|$)/iu.exec(
    words.slice(0, 300),
  )
  return found?.[1] === undefined ? null : registeredDomainOf(domainToASCII(found[1]))
}

export function registeredDomainOf(host: string): string {
  return findOwnerDomain(host) ?? host
}

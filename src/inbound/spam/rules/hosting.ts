/**
 * Rules on where linked pages are hosted, on links made for one recipient, and on links that lead through another
 * site.
 */
import { isFreeHost, isThrowawayDomain, registeredLabelOf } from '../facts/host-kinds.js'
import type { SpamFacts } from '../facts/spam-facts.js'
import type { SpamUrl } from '../facts/url-facts.js'
import type { SpamRule } from './spam-rule.js'

/** Maximum of links checked; no message has more distinct ones. */
const MAX_LINKS = 200
const MAX_PATH = 1_000
const MAX_LABEL = 63

const foreignUrlsOf = ({ urls, author }: SpamFacts): readonly SpamUrl[] =>
  urls.slice(0, MAX_LINKS).filter(({ organization }) => organization !== author?.organization)

const hasForeignUrl =
  (test: (url: SpamUrl) => boolean) =>
  (facts: SpamFacts): boolean =>
    foreignUrlsOf(facts).some(test)

/** Open redirects of large sites. */
const redirectors: readonly RegExp[] = [
  /^(?:www\.)?google\.[a-z.]{2,10}\/(?:url\?|amp\/s\/|travel\/clk)/,
  /^(?:www\.)?bing\.com\/ck\//,
  /^(?:www\.)?youtube\.com\/redirect\?/,
  /^(?:www\.)?linkedin\.com\/(?:redir\/|slink\?)/,
  /^l\.(?:facebook|instagram)\.com\/l\.php/,
  /^(?:[a-z0-9-]{1,63}\.){0,3}doubleclick\.net\/.{0,200}(?:adurl|ds_dest_url|url)=/,
  /^(?:t|go|r|click|lnk|track)\.(?:ly|co|me|sa)\/.{0,100}https?/,
]

/** A recipient's address after `#`, plain or in base64. The page fills in the login with it. */
function hasRecipientInFragment({ path }: SpamUrl, { message }: SpamFacts): boolean {
  const at = path.indexOf('#')
  if (at === -1) return false
  const fragment = path.slice(at + 1, at + 1 + MAX_PATH)
  const plain = fragment.toLowerCase().replace(/%40/g, '@')
  return message.to.slice(0, 20).some(({ address }) => {
    if (address === null) return false
    const base64 = Buffer.from(address)
      .toString('base64')
      .replace(/={1,2}$/, '')
      .slice(0, -1)
    return plain.includes(address.toLowerCase()) || fragment.includes(base64)
  })
}

export const hostingRules: readonly SpamRule[] = [
  {
    name: 'URL_FREE_HOST',
    weight: 0.3,
    description: 'a link leads to a host on which anyone can publish pages',
    test: hasForeignUrl(({ host, path }) => isFreeHost(host, path)),
  },
  {
    name: 'URL_REDIRECTOR',
    weight: 1.2,
    description: 'a link leads to a redirector of a large site, which can lead anywhere',
    test: hasForeignUrl(({ host, path }) => {
      const whole = `${host}${path.slice(0, MAX_PATH)}`
      return redirectors.some((one) => one.test(whole))
    }),
  },
  {
    name: 'URL_THROWAWAY_DOMAIN',
    weight: 0.8,
    description: 'a link leads to a top-level domain whose names are mostly used for a short time',
    test: hasForeignUrl(({ host }) => isThrowawayDomain(host)),
  },
  {
    name: 'AUTHOR_THROWAWAY_DOMAIN',
    weight: 1,
    description: "the author's domain is in a top-level domain whose names are mostly used for a short time",
    test: ({ author }) => author !== null && isThrowawayDomain(author.domain),
  },
  {
    name: 'URL_INSIDE_WORDPRESS',
    weight: 2,
    description: 'a link leads to an internal folder of a web site, in which intruders put pages',
    test: ({ urls }) =>
      urls
        .slice(0, MAX_LINKS)
        .some(({ path }) =>
          /^\/(?:[\w-]{1,40}\/){0,3}(?:wp-(?:includes|admin)\/|wp-content\/(?:plugins|themes|upgrade|cache)\/|\.well-known\/(?!acme|security|change))/i.test(
            path.slice(0, 300),
          ),
        ),
  },
  {
    name: 'URL_FRAGMENT_NAMES_RECIPIENT',
    weight: 2.2,
    description: "the fragment of a link contains the recipient's address",
    test: (facts) => facts.urls.slice(0, MAX_LINKS).some((url) => hasRecipientInFragment(url, facts)),
  },
  {
    name: 'AUTHOR_RANDOM_DOMAIN',
    weight: 1,
    description: "the author's domain is an unreadable row of letters and digits",
    test: ({ author }) => {
      const label = registeredLabelOf(author?.domain ?? '').slice(0, MAX_LABEL)
      return !label.startsWith('xn--') && /[bcdfghjklmnpqrstvwxz]{6}|(?:[a-z]{1,6}\d{1,4}){3}|\d{5}/i.test(label)
    },
  },
]

/** Rules on where links lead and how they are written. */
import { domainToUnicode } from 'node:url'
import { shorteners } from '../facts/host-kinds.js'
import { isHomograph, isMixedScript } from '../facts/script-facts.js'
import type { SpamFacts } from '../facts/spam-facts.js'
import { findShownDomain, type SpamUrl } from '../facts/url-facts.js'
import type { SpamRule } from './spam-rule.js'

/** Maximum of recipients searched for. */
const MAX_ADDRESSES = 20

const anyUrl =
  (test: (url: SpamUrl) => boolean) =>
  ({ urls }: SpamFacts): boolean =>
    urls.some(test)

const hasUrlOrImage =
  (test: (url: SpamUrl) => boolean) =>
  ({ urls, images }: SpamFacts): boolean =>
    urls.some(test) || images.some(test)

/**
 * A link text that names the author's own domain is honest even if the address is that of a click-counting
 * service, provided that DMARC proves the domain.
 */
function hasMisleadingText({ urls, author, message }: SpamFacts): boolean {
  const own = message.authentication?.dmarc === 'pass' ? author?.organization : undefined
  return urls.some(({ text, organization }) => {
    const shown = text === null ? null : findShownDomain(text)
    return shown !== null && shown !== organization && shown !== own
  })
}

function isLookalikeHost({ host }: SpamUrl): boolean {
  const name = /xn--/.test(host) ? domainToUnicode(host) : host
  // A name below a top-level domain of the same alphabet is no disguise.
  const ascii = /\.[a-z]{2,24}$/.test(name)
  return name.split('.').some((label) => isMixedScript(label) || (ascii && isHomograph(label)))
}

function hasRecipientInUrl({ message, urls }: SpamFacts): boolean {
  const addresses = message.to
    .slice(0, MAX_ADDRESSES)
    .flatMap(({ address }) => (address === null ? [] : [address.toLowerCase()]))
  return urls.some(({ path }) => {
    const lower = path.toLowerCase().replace(/%40/g, '@')
    return addresses.some((address) => lower.includes(address))
  })
}

export const urlRules: readonly SpamRule[] = [
  {
    name: 'URL_IP_ADDRESS',
    weight: 2.2,
    description: 'a link leads to a bare IP address',
    test: hasUrlOrImage(({ host }) => /^\d{1,3}(?:\.\d{1,3}){3}$/.test(host) && !/^(?:127|10|192\.168)\./.test(host)),
  },
  {
    name: 'URL_NUMERIC_HOST',
    weight: 3,
    description: 'a link has an IP address that is written as one number or in an unusual form',
    test: hasUrlOrImage(({ host }) => /^(?:\d{6,10}|0x[0-9a-f]{2}.*|0\d+(?:\.\d+){3})$/.test(host)),
  },
  {
    name: 'URL_USER',
    weight: 2.1,
    description: 'a link has a user name in front of its host',
    test: hasUrlOrImage(({ user }) => user !== ''),
  },
  {
    name: 'URL_ODD_PORT',
    weight: 1,
    description: 'a link leads to an unusual port',
    test: anyUrl(({ port }) => port !== '' && !/^(?:80|443|8080|8443|21)$/.test(port)),
  },
  {
    name: 'URL_ESCAPED',
    weight: 1.5,
    description: 'a link escapes letters that need no escape',
    test: anyUrl(({ host, path }) => host.includes('%') || /(?:%(?:3[0-9]|[46][1-9a-f]|[57][0-9a])){2}/i.test(path)),
  },
  {
    name: 'URL_REDIRECTS',
    weight: 0.1,
    description: 'a link contains the address of another page',
    test: anyUrl(({ path }) => /^.{1,500}?[/?=*](?:https?|https?%3a)(?::|%3a)?(?:\/|%2f)/i.test(path)),
  },
  {
    name: 'URL_SHORTENED',
    weight: 0.2,
    description: 'a link leads to a service that shortens links',
    test: anyUrl(({ host }) => shorteners.has(host)),
  },
  {
    name: 'URL_HOMOGRAPH',
    weight: 3,
    description: 'a link leads to a host name that looks like another name',
    test: hasUrlOrImage(isLookalikeHost),
  },
  {
    name: 'URL_PUNYCODE',
    weight: 0.3,
    description: 'a link leads to an internationalized host name in its encoded form',
    test: anyUrl(({ host }) => /(?:^|\.)xn--/.test(host)),
  },
  {
    name: 'URL_TEXT_MISMATCH',
    weight: 1.5,
    description: 'the text of a link shows another address than the link leads to',
    test: hasMisleadingText,
  },
  {
    name: 'URL_CHEAP_DOMAIN',
    weight: 0.2,
    description: 'a link leads to a top-level domain that is mostly abused',
    test: hasUrlOrImage(({ host }) =>
      /\.(?:biz|info|top|xyz|click|icu|buzz|cfd|sbs|rest|work|tk|ml|ga|cf|gq|bid|loan|win|zip|mov)$/.test(host),
    ),
  },
  {
    name: 'URL_DIGITS',
    weight: 0.2,
    description: 'a link leads to a domain with digits in its name',
    test: hasUrlOrImage(
      ({ organization }) =>
        /^(?!xn--)[a-z-]*\d[a-z\d-]*\.[a-z]/.test(organization) && !/^\d+(?:\.\d+){3}$/.test(organization),
    ),
  },
  {
    name: 'URL_PROGRAM',
    weight: 2,
    description: 'a link leads to a program',
    test: anyUrl(({ path }) => /\.(?:exe|scr|pif|msi|bat|cmd|vbs|jar|apk|hta|lnk|iso)(?:$|[?#])/i.test(path)),
  },
  {
    name: 'URL_REMOVAL',
    weight: 0.9,
    description: 'a link offers to remove the recipient from a list',
    test: anyUrl(
      ({ path, host }) =>
        /\b(?:remove|removal|opt-?out|unsub\w*|optout|nomore|takemeoff)/i.test(path.slice(0, 500)) ||
        /remov|optout/.test(host),
    ),
  },
  {
    name: 'URL_NAMES_RECIPIENT',
    weight: 0.2,
    description: "a link contains the recipient's address",
    test: hasRecipientInUrl,
  },
  {
    name: 'URL_LONG_HOST',
    weight: 1,
    description: 'a link leads to a host name with many labels or a very long label',
    test: hasUrlOrImage(({ host }) => host.split('.').length > 6 || host.split('.').some((label) => label.length > 35)),
  },
  {
    name: 'URL_AFFILIATE',
    weight: 0.2,
    description: 'a link has the identifier of an affiliate or a campaign',
    test: anyUrl(({ path }) =>
      /[?&/](?:aff?(?:iliate)?_?(?:id)?|affid|refid|partner|sid|pid|campaign)=\w/i.test(path.slice(0, 500)),
    ),
  },
  {
    name: 'URL_SCRIPT',
    weight: 2,
    description: 'a link contains a script or a page',
    test: ({ html }) => html.links.some(({ href }) => /^\s*(?:javascript|vbscript|data)\s*:/i.test(href)),
  },
  {
    name: 'IMAGE_LINKS',
    weight: 0.2,
    description: 'a link has no text, and the message loads images from the web',
    test: ({ html, images }) =>
      images.length > 0 && html.links.filter(({ href, text }) => /^http/i.test(href) && text.trim() === '').length > 0,
  },
  {
    name: 'URL_OWN',
    weight: -1.5,
    description: "most links of the message lead to the author's own organization",
    test: ({ urls, author }) => {
      const own = urls.filter(({ organization }) => organization === author?.organization).length
      return own > 2 && own * 2 > urls.length
    },
  },
]

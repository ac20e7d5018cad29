/**
 * Rules on authentication results and on the client's names. They do not match a message without a known origin, such
 * as one from a file.
 *
 * A pass speaks for the name, not for its owner, so it weighs little.
 */

import type { SpamAuthentication, SpamOrigin } from '../facts/spam-message.js'
import { registeredDomainOf } from '../facts/url-facts.js'
import type { SpamRule } from './spam-rule.js'

function authenticationRule(
  name: string,
  weight: number,
  description: string,
  test: (results: SpamAuthentication) => boolean,
): SpamRule {
  return {
    name,
    weight,
    description,
    test: ({ message }) => message.authentication !== null && test(message.authentication),
  }
}

function clientRule(
  name: string,
  weight: number,
  description: string,
  test: (origin: SpamOrigin) => boolean,
): SpamRule {
  return { name, weight, description, test: ({ message }) => message.origin !== null && test(message.origin) }
}

/** A reverse name derived from the address, as providers assign to home connections. */
function hasGenericName({ reverseName, clientAddress }: SpamOrigin): boolean {
  const octets = clientAddress.split('.')
  if (reverseName === null || octets.length !== 4) return false
  const numbers: readonly string[] = (reverseName.match(/\d+/g) ?? []).map((one) => String(Number(one)))
  return octets.filter((octet) => numbers.includes(octet)).length >= 3
}

export const authenticationRules: readonly SpamRule[] = [
  authenticationRule(
    'SPF_FAIL',
    2.5,
    "SPF says that the client may not send for the sender's domain",
    ({ spf }) => spf === 'fail',
  ),
  authenticationRule(
    'SPF_SOFTFAIL',
    1,
    "SPF says that the client probably may not send for the sender's domain",
    ({ spf }) => spf === 'softfail',
  ),
  authenticationRule(
    'SPF_PERMERROR',
    0.5,
    "the SPF record of the sender's domain has an error",
    ({ spf }) => spf === 'permerror',
  ),
  authenticationRule('DKIM_FAIL', 1.5, 'a DKIM signature is wrong', ({ dkim }) => dkim === 'fail'),
  authenticationRule('DKIM_PERMERROR', 0.5, 'a DKIM signature cannot be checked', ({ dkim }) => dkim === 'permerror'),
  authenticationRule(
    'DMARC_FAIL',
    3,
    "DMARC fails: neither SPF nor DKIM proves the author's domain",
    ({ dmarc }) => dmarc === 'fail',
  ),
  authenticationRule(
    'DMARC_PASS',
    -0.5,
    "DMARC passes: SPF or DKIM proves the author's domain",
    ({ dmarc }) => dmarc === 'pass',
  ),
  authenticationRule(
    'UNAUTHENTICATED',
    1.5,
    'neither SPF nor DKIM passes for any domain',
    ({ spf, dkim }) => spf !== 'pass' && dkim !== 'pass' && spf !== 'temperror' && dkim !== 'temperror',
  ),
  authenticationRule(
    'IPREV_FAIL',
    2,
    "the client's address has no host name that leads back to the address",
    ({ iprev }) => iprev === 'fail',
  ),
  clientRule('CLIENT_GENERIC_NAME', 1.5, 'the client has the host name of a home connection', hasGenericName),
  clientRule('HELO_LITERAL', 1, 'the client gave an IP address as its name at EHLO', ({ helo }) =>
    /^\[?(?:\d{1,3}(?:\.\d{1,3}){3}|ipv6:[^\]]*)\]?$/i.test(helo),
  ),
  clientRule('HELO_NO_DOMAIN', 1, 'the client gave a name without a domain at EHLO', ({ helo }) => !/[.:]/.test(helo)),
  {
    name: 'ENVELOPE_ELSEWHERE',
    weight: 0.3,
    description: 'the envelope sender belongs to another organization than the author',
    test: ({ message, author }) => {
      const sender = message.origin?.envelopeFrom ?? ''
      const domain = sender.slice(sender.lastIndexOf('@') + 1).toLowerCase()
      return author !== null && domain !== '' && registeredDomainOf(domain) !== author.organization
    },
  },
]

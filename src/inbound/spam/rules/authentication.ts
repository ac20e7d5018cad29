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
  authenticationRule('SPF_FAIL', 2.5, 'the sender domain does not send from there', ({ spf }) => spf === 'fail'),
  authenticationRule('SPF_SOFTFAIL', 1, 'the sender domain hardly sends from there', ({ spf }) => spf === 'softfail'),
  authenticationRule('SPF_PERMERROR', 0.5, 'the SPF record is broken', ({ spf }) => spf === 'permerror'),
  authenticationRule('DKIM_FAIL', 1.5, 'a signature does not hold', ({ dkim }) => dkim === 'fail'),
  authenticationRule('DKIM_PERMERROR', 0.5, 'a signature that cannot be checked', ({ dkim }) => dkim === 'permerror'),
  authenticationRule('DMARC_FAIL', 3, "the author's domain does not vouch for it", ({ dmarc }) => dmarc === 'fail'),
  authenticationRule('DMARC_PASS', -0.5, "the author's domain vouches for it", ({ dmarc }) => dmarc === 'pass'),
  authenticationRule(
    'UNAUTHENTICATED',
    1.5,
    'neither SPF nor DKIM speaks for any domain',
    ({ spf, dkim }) => spf !== 'pass' && dkim !== 'pass' && spf !== 'temperror' && dkim !== 'temperror',
  ),
  authenticationRule('IPREV_FAIL', 2, 'the client has no name that leads back to it', ({ iprev }) => iprev === 'fail'),
  clientRule('CLIENT_GENERIC_NAME', 1.5, 'the client has the name of a home connection', hasGenericName),
  clientRule('HELO_LITERAL', 1, 'the client calls itself by an address', ({ helo }) =>
    /^\[?(?:\d{1,3}(?:\.\d{1,3}){3}|ipv6:[^\]]*)\]?$/i.test(helo),
  ),
  clientRule('HELO_NO_DOMAIN', 1, 'the client calls itself by no full name', ({ helo }) => !/[.:]/.test(helo)),
  {
    name: 'ENVELOPE_ELSEWHERE',
    weight: 0.3,
    description: 'bounces go to another organization than the author',
    test: ({ message, author }) => {
      const sender = message.origin?.envelopeFrom ?? ''
      const domain = sender.slice(sender.lastIndexOf('@') + 1).toLowerCase()
      return author !== null && domain !== '' && registeredDomainOf(domain) !== author.organization
    },
  },
]

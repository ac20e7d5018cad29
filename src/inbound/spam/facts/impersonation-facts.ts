/**
 * Finds whom a message claims to come from, compared with its author's domain and the targets of its links.
 *
 * Limits: the first three authors, the first 100 distinct hosts of links.
 */
import type { Mailbox } from '../../../base/mail/mailbox-list.js'
import {
  type BrandMatch,
  findBrandOfHost,
  findBrands,
  isBrandLookalike,
  isOwnDomain,
  isSharedNameMisused,
} from './brand-match.js'
import { findPhishingTopics, hasUrgentPhrase, type PhishingTopic } from './phishing-phrases.js'
import { parseSpamUrl, type SpamUrl } from './url-facts.js'
import type { WordedText } from './wording.js'

const MAX_AUTHORS = 3
const MAX_HOSTS = 100

export interface ImpersonationFacts {
  /** Brands that the authors' names mention and that do not own the author's domain. */
  readonly impersonatedBrands: readonly BrandMatch[]
  /** The same for the subject. */
  readonly subjectBrands: readonly BrandMatch[]
  /** The author's domain looks like a brand's. */
  readonly hasLookalikeDomain: boolean
  /** A link leads to a host that looks like a brand's. */
  readonly hasLookalikeLink: boolean
  /** The message mentions a brand and has links, and none of them leads to that brand. */
  readonly noLinkToNamedBrand: boolean
  /** The author's domain belongs to a brand, and none of the links leads to that brand. */
  readonly noLinkToAuthorBrand: boolean
  /** The things that fraud asks for and this message asks for too. */
  readonly phishingTopics: ReadonlySet<PhishingTopic>
  readonly isUrgent: boolean
}

interface ImpersonationInput {
  readonly from: readonly Mailbox[]
  readonly subject: string
  /** The author's domain. Null if there is none. */
  readonly domain: string | null
  /** The beginning and the end of all words, in lower case. */
  readonly wordedText: WordedText
  readonly urls: readonly SpamUrl[]
}

export function collectImpersonationFacts({
  from,
  subject,
  domain,
  wordedText,
  urls,
}: ImpersonationInput): ImpersonationFacts {
  const foreignBrandsOf = (found: readonly BrandMatch[]): readonly BrandMatch[] =>
    domain === null ? [] : found.filter(({ brand }) => !isOwnDomain(brand, domain))
  const names = from.slice(0, MAX_AUTHORS).map(({ name }) => name)
  const impersonatedBrands = foreignBrandsOf(names.flatMap(findBrands))
  const subjectBrands = foreignBrandsOf(findBrands(subject))
  const hosts = [...new Set(urls.map(({ host }) => host))].slice(0, MAX_HOSTS)
  const all = [...impersonatedBrands, ...subjectBrands]
  return {
    impersonatedBrands:
      domain !== null && names.some((name) => isSharedNameMisused(name, domain))
        ? [...impersonatedBrands, sharedNameMatch]
        : impersonatedBrands,
    subjectBrands: subjectBrands,
    hasLookalikeDomain: domain !== null && isBrandLookalike(domain),
    hasLookalikeLink: hosts.some(isBrandLookalike),
    noLinkToNamedBrand:
      hosts.length > 0 && all.length > 0 && !hosts.some((host) => all.some(({ brand }) => isOwnDomain(brand, host))),
    noLinkToAuthorBrand: domain !== null && hosts.length > 0 && hasNoLinkToBrand(domain, hosts),
    phishingTopics: findPhishingTopics(wordedText),
    isUrgent: hasUrgentPhrase(wordedText),
  }
}

function hasNoLinkToBrand(domain: string, hosts: readonly string[]): boolean {
  const brand = findBrandOfHost(domain)
  return brand !== null && !hosts.some((host) => isOwnDomain(brand, host))
}

const sharedNameMatch: BrandMatch = { brand: { names: [], labels: new Set(), common: true }, disguised: false }

/** Targets of the HTML's forms. */
export function parseFormUrls(actions: readonly string[]): readonly SpamUrl[] {
  return actions.flatMap((action) => parseSpamUrl(action, null) ?? [])
}

/**
 * For whom a message gives itself out, held against where it comes from and where its links lead.
 *
 * Limits: the first three authors, the first 100 distinct hosts of links.
 */
import type { Mailbox } from '../../mail/mailbox-list.js'
import { type BrandFound, brandsIn, isOwnDomain, ownerOf, poseAsSharedName, resemblesBrand } from './brand-match.js'
import { haste, type Lure, luresIn } from './lures.js'
import { type SpamUrl, spamUrl } from './url-facts.js'

const MAX_AUTHORS = 3
const MAX_HOSTS = 100

export interface PretenceFacts {
  /** Brands that names of authors speak of, and that the author's domain does not belong to. */
  readonly posed: readonly BrandFound[]
  /** The same of the subject. */
  readonly subject: readonly BrandFound[]
  /** The author's domain is made to look like a brand's. */
  readonly likeness: boolean
  /** A link leads to a name that is made to look like a brand's. */
  readonly linkLikeness: boolean
  /** It names a brand, has links, and none of them leads to that brand. */
  readonly linksElsewhere: boolean
  /** The author's domain is a brand's, and none of its links leads to that brand. */
  readonly awayFromBrand: boolean
  /** What it asks for that fraud asks for. */
  readonly lures: ReadonlySet<Lure>
  readonly haste: boolean
}

interface Named {
  readonly from: readonly Mailbox[]
  readonly subject: string
  /** Domain of the author; null: there is none. */
  readonly domain: string | null
  /** The beginning and the end of all words, in lower case. */
  readonly lower: string
  readonly urls: readonly SpamUrl[]
}

export function pretenceFacts({ from, subject, domain, lower, urls }: Named): PretenceFacts {
  const foreign = (found: readonly BrandFound[]): readonly BrandFound[] =>
    domain === null ? [] : found.filter(({ brand }) => !isOwnDomain(brand, domain))
  const names = from.slice(0, MAX_AUTHORS).map(({ name }) => name)
  const posed = foreign(names.flatMap(brandsIn))
  const named = foreign(brandsIn(subject))
  const hosts = [...new Set(urls.map(({ host }) => host))].slice(0, MAX_HOSTS)
  const all = [...posed, ...named]
  return {
    posed: domain !== null && names.some((name) => poseAsSharedName(name, domain)) ? [...posed, sharedName] : posed,
    subject: named,
    likeness: domain !== null && resemblesBrand(domain),
    linkLikeness: hosts.some(resemblesBrand),
    linksElsewhere:
      hosts.length > 0 && all.length > 0 && !hosts.some((host) => all.some(({ brand }) => isOwnDomain(brand, host))),
    awayFromBrand: domain !== null && hosts.length > 0 && leavesBrand(domain, hosts),
    lures: luresIn(lower),
    haste: haste.test(lower),
  }
}

function leavesBrand(domain: string, hosts: readonly string[]): boolean {
  const brand = ownerOf(domain)
  return brand !== null && !hosts.some((host) => isOwnDomain(brand, host))
}

const sharedName: BrandFound = { brand: { names: [], labels: new Set(), common: true }, disguised: false }

/** Where forms of HTML send what is filled in. */
export function formUrls(actions: readonly string[]): readonly SpamUrl[] {
  return actions.flatMap((action) => spamUrl(action, null) ?? [])
}

/**
 * Rules on impersonation: brand names of unrelated senders, lookalike names, links whose text names one site and
 * whose address another.
 *
 * The classifier sees single words and none of these relations, so they are independent evidence
 * (`own-points.ts`).
 */
import { hasServiceWord } from '../facts/brand-match.js'
import { isFormHost, isFreeHost, isFreeMail, isShortener } from '../facts/host-kinds.js'
import { loginPhrases, qrCodePhrases } from '../facts/phishing-phrases.js'
import type { SpamFacts } from '../facts/spam-facts.js'
import { findShownDomain, registeredDomainOf, type SpamUrl } from '../facts/url-facts.js'
import type { SpamRule } from './spam-rule.js'

/** Maximum of recipients checked. */
const MAX_RECIPIENTS = 20
/** Shorter organization names are ordinary words. */
const MIN_ORGANIZATION_LENGTH = 5

const organizationOf = (address: string): string =>
  registeredDomainOf(address.slice(address.lastIndexOf('@') + 1).toLowerCase())

/** `Orchard Support` or `orchard.example`, sent to a mailbox at orchard.example from elsewhere. */
function isPosingAsRecipient({ message, author }: SpamFacts): boolean {
  const name = (author?.name ?? '').slice(0, 200).toLowerCase()
  if (author === null || name === '') return false
  return message.to.slice(0, MAX_RECIPIENTS).some(({ address }) => {
    if (address === null) return false
    const organization = organizationOf(address)
    if (organization === author.organization || isFreeMail(organization)) return false
    const label = organization.slice(0, organization.indexOf('.'))
    return (
      name.includes(organization) ||
      (label.length >= MIN_ORGANIZATION_LENGTH &&
        !hasServiceWord(label) &&
        hasServiceWord(name) &&
        name.split(/[^\p{L}\p{N}-]+/u).includes(label))
    )
  })
}

/** A company's department that answers from a free mailbox. */
function isOfficeAtFreeMail({ message, author }: SpamFacts): boolean {
  if (author === null || !officeWords.test(author.name.slice(0, 200))) return false
  const reply = message.replyTo.find(({ address }) => address !== null)?.address
  const domain = reply === undefined || reply === null ? author.domain : reply.slice(reply.lastIndexOf('@') + 1)
  return isFreeMail(domain.toLowerCase())
}

/** Matches `IT Helpdesk` or `Mail Server`: an honest one writes from the recipient's own organization. */
function isExternalOffice({ message, author, impersonation }: SpamFacts): boolean {
  if (author === null || !genericOfficeName.test(author.name.slice(0, 200))) return false
  if (message.to.some(({ address }) => address !== null && organizationOf(address) === author.organization))
    return false
  return impersonation.phishingTopics.has('mailbox') || impersonation.phishingTopics.has('document')
}

const genericOfficeName =
  /^[\s"']{0,5}(?:(?:the|it|e-?mail|mail|web|webmail|system|server|network|mailbox|admin|administrator|support|help|helpdesk|desk|security|service|services|team|department|hr|human|resources|payroll|account|accounts|notification|notifications|alert|no-?reply|message|messages|center|voicemail|voice|fax|document|documents|scanner|copier|secure|online|portal|customer|care|technical|center|update)[\s.:&/-]{0,3}){1,5}["']{0,2}$/i

const officeWords =
  /\b(?:support|security|accounts?|billing|department|dept|helpdesk|help desk|notifications?|customer (?:service|care)|administrator|admin|it desk|human resources|bank|inc|ltd|llc|gmbh|corp(?:oration)?|logistics|compliance|refund|claims?|foundation|organi[sz]ation|united nations|ministry|kundenservice|suporte|atendimento|soporte|servizio)\b/i

/**
 * A link's text names a domain that is neither the link's nor the author's own: services may count clicks on an
 * author's links. The name of a brand is the author's own only after a DMARC pass.
 */
function hasFeignedTarget({ urls, author, message, impersonation }: SpamFacts): boolean {
  const proved = message.authentication?.dmarc === 'pass' || !impersonation.noLinkToAuthorBrand
  return urls.some(({ text, organization }) => {
    const shown = text === null ? null : findShownDomain(text)
    return shown !== null && shown !== organization && !(proved && shown === author?.organization)
  })
}

const findFreeHostLinks = ({ urls, author }: SpamFacts): readonly SpamUrl[] =>
  urls
    .slice(0, 100)
    .filter(
      ({ host, path, organization }) =>
        organization !== author?.organization && (isFreeHost(host, path) || isShortener(host)),
    )

/** Honest surveys offer a prize for answers to a form too. */
function isPhishingAtFreeHost(facts: SpamFacts): boolean {
  const links = findFreeHostLinks(facts)
  if (links.length === 0) return false
  const { phishingTopics } = facts.impersonation
  const isSurvey =
    phishingTopics.size === 1 && phishingTopics.has('reward') && links.every(({ host }) => isFormHost(host))
  return hasForeignBrand(facts) || (phishingTopics.size > 0 && !isSurvey)
}

/** Three links lead to the author's own organization: an author who writes about others has such pages. */
const hasOwnLinks = ({ urls, author }: SpamFacts): boolean =>
  urls.filter(({ organization }) => organization === author?.organization).length > 2

const hasForeignBrand = ({ impersonation }: SpamFacts): boolean =>
  impersonation.impersonatedBrands.length + impersonation.subjectBrands.length > 0

/** A code to scan instead of a link: a picture, words of scanning, and something to log in to. */
function hasLoginQrCode({ message, html, lowerText }: SpamFacts): boolean {
  const pictures =
    html.imageCount > 0 ||
    message.attachments.some(({ contentType }) => /^(?:image\/|application\/pdf$)/.test(contentType))
  return pictures && qrCodePhrases.test(lowerText) && loginPhrases.test(lowerText)
}

export const impersonationRules: readonly SpamRule[] = [
  {
    name: 'AUTHOR_POSES_AS_BRAND',
    weight: 2.5,
    description: "the author's name has the name of a company, but the author's domain is not the company's",
    test: ({ impersonation }) => impersonation.impersonatedBrands.length > 0,
  },
  {
    name: 'AUTHOR_DOMAIN_LIKE_BRAND',
    weight: 2.5,
    description: "the author's domain is made to look like the domain of a company",
    test: ({ impersonation }) => impersonation.hasLookalikeDomain,
  },
  {
    name: 'BRAND_DISGUISED',
    weight: 2,
    description: 'the name of a company is written with letters that only look like its own',
    test: ({ impersonation }) =>
      [...impersonation.impersonatedBrands, ...impersonation.subjectBrands].some(({ disguised }) => disguised),
  },
  {
    name: 'SUBJECT_NAMES_BRAND',
    weight: 0.6,
    description: 'the subject names a company to which neither the author nor a link belongs',
    test: (facts) =>
      facts.impersonation.subjectBrands.length > 0 &&
      facts.impersonation.noLinkToNamedBrand &&
      !facts.fields.has('in-reply-to') &&
      !facts.fields.has('list-id') &&
      !hasOwnLinks(facts),
  },
  {
    name: 'LURE_OF_BRAND',
    weight: 1.6,
    description: 'the message has the wording of phishing and names a company to which no link leads',
    test: ({ impersonation, message }) =>
      impersonation.phishingTopics.size > 0 &&
      (impersonation.noLinkToNamedBrand ||
        (impersonation.noLinkToAuthorBrand && message.authentication?.dmarc !== 'pass')),
  },
  {
    name: 'URL_LIKE_BRAND',
    weight: 2.2,
    description: 'a link leads to a host name that is made to look like the name of a company',
    test: ({ impersonation }) => impersonation.hasLookalikeLink,
  },
  {
    name: 'LURE_AT_FREE_HOST',
    weight: 2,
    description:
      'the message has the wording of phishing or names a company, and a link leads to a host on which anyone can publish',
    test: isPhishingAtFreeHost,
  },
  {
    name: 'LURE_FEIGNS_TARGET',
    weight: 1.5,
    description: 'the message has the wording of phishing and a link whose text shows another address',
    test: (facts) => facts.impersonation.phishingTopics.size > 0 && hasFeignedTarget(facts),
  },
  {
    name: 'LURE_IN_HASTE',
    weight: 0.8,
    description:
      'the message has the wording of phishing, sets a short deadline and uses the name of another organization',
    test: (facts) =>
      facts.impersonation.phishingTopics.size > 0 &&
      facts.impersonation.isUrgent &&
      (hasForeignBrand(facts) || facts.impersonation.hasLookalikeDomain || isPosingAsRecipient(facts)),
  },
  {
    name: 'LURE_AT_THROWAWAY_DOMAIN',
    weight: 1,
    description:
      'the message has the wording of phishing and a top-level domain whose names are mostly used for a short time',
    test: ({ impersonation, hasThrowawayDomain }) => impersonation.phishingTopics.size > 0 && hasThrowawayDomain,
  },
  {
    name: 'AUTHOR_POSES_AS_RECIPIENT',
    weight: 2,
    description: "the author's name claims to be the recipient's own organization",
    test: isPosingAsRecipient,
  },
  {
    name: 'LURE_OF_OFFICE',
    weight: 1.5,
    description: 'an author outside the organization poses as its help desk and mentions held mail or a document',
    test: isExternalOffice,
  },
  {
    name: 'OFFICE_AT_FREE_MAIL',
    weight: 1.3,
    description: "the author's name is that of a company or department, but replies go to a free mailbox",
    test: isOfficeAtFreeMail,
  },
  {
    name: 'QR_TO_LOG_IN',
    weight: 2.8,
    description: 'the message asks the recipient to scan a code in order to log in',
    test: hasLoginQrCode,
  },
  {
    name: 'LURE_WITH_FORM',
    weight: 1.5,
    description:
      'the message has the wording of phishing and a form that sends its content to another organization than the author',
    test: ({ impersonation, forms, author }) =>
      impersonation.phishingTopics.size > 0 && forms.some(({ organization }) => organization !== author?.organization),
  },
]

/**
 * Decides by the authentication results whether a message is accepted, accepted as spam, or refused.
 *
 * Two From fields are refused under every setting, because readers disagree about the author (RFC 5322 section
 * 3.6). A failed DMARC check has the effect that the domain owner requests, as far as the setting allows: `reject`
 * refuses and quarantines, `quarantine` makes both spam, `report` has no effect. Authors of several domains, whose
 * owners cannot be asked, count as quarantined (RFC 9989 section 11.5). `strict`, which a receiving domain may choose,
 * refuses every failed check. A `temperror` never refuses, nor does any check except DMARC.
 */
import type { Authentication } from '../../../base/mail/authentication-results.js'

export type DmarcSetting = 'reject' | 'quarantine' | 'report'

type SpamReason = 'dmarc-quarantine' | 'dmarc-reject' | 'several-author-domains'
type RefusedReason = SpamReason | 'dmarc-strict' | 'two-from-fields'

export type AcceptanceDecision =
  | { readonly kind: 'accept' }
  | { readonly kind: 'spam'; readonly reason: SpamReason }
  | {
      readonly kind: 'refuse'
      readonly reason: RefusedReason
      readonly code: 550
      readonly enhanced: '5.7.1'
      readonly text: string
    }

export function decideAcceptance(
  { dmarc, fromFields }: Authentication,
  setting: DmarcSetting | 'strict',
): AcceptanceDecision {
  if (fromFields > 1) return buildRefusal('two-from-fields', `${fromFields} From fields where RFC 5322 allows one`)
  if (setting === 'report') return { kind: 'accept' }
  if (dmarc.reason === 'multiple-author-domains' || dmarc.reason === 'invalid-author-domain') {
    return { kind: 'spam', reason: 'several-author-domains' }
  }
  if (dmarc.result !== 'fail') return { kind: 'accept' }
  if (setting === 'strict') {
    const author = toPrintable(dmarc.domain ?? '')
    return buildRefusal('dmarc-strict', `neither SPF nor DKIM authenticates From in ${author}`)
  }
  switch (dmarc.disposition) {
    case 'none':
      return { kind: 'accept' }
    case 'quarantine':
      return { kind: 'spam', reason: 'dmarc-quarantine' }
    case 'reject':
      return setting === 'reject'
        ? buildRefusal(
            'dmarc-reject',
            `neither SPF nor DKIM authenticates From in ${toPrintable(dmarc.domain ?? '')}, whose DMARC policy is reject`,
          )
        : { kind: 'spam', reason: 'dmarc-reject' }
  }
}

function buildRefusal(reason: RefusedReason, text: string): AcceptanceDecision {
  return { kind: 'refuse', reason, code: 550, enhanced: '5.7.1', text }
}

/** A remote domain, quoted in an SMTP reply. */
function toPrintable(domain: string): string {
  return domain.replace(/[^A-Za-z0-9.-]/g, '?').slice(0, 255)
}

/**
 * Decides for the recipients of one message what its authentication means, each by the policy of its domain: refuse,
 * spam or accept. Pure.
 *
 * DATA has one answer for all of them, so the mildest decision is that of the message: a strict domain never refuses
 * mail for others. The same holds within the copy of a workspace, which is one record: it is filed as spam only if each
 * of its recipients would refuse the message or file it so.
 */
import type { Address } from '../../../base/mail/address.js'
import type { Authentication } from '../../../base/mail/authentication-results.js'
import type { InboundPolicy } from '../../../base/storage/tables/domain-tables.js'
import { type AcceptanceDecision, type DmarcSetting, decideAcceptance } from './acceptance-policy.js'

interface RecipientDecisions {
  readonly message: AcceptanceDecision
  /** Why the copy for these recipients is spam whatever its score. Null if its score decides. */
  readonly spamReasonOf: (addresses: readonly Address[]) => string | null
  /** Every recipient refuses the message if it is spam by its score. */
  readonly refusesSpam: boolean
}

export async function decideForRecipients(
  authentication: Authentication,
  recipients: readonly Address[],
  policyOf: (address: Address) => Promise<InboundPolicy>,
  setting: DmarcSetting,
): Promise<RecipientDecisions> {
  const decisions = new Map<Address, AcceptanceDecision>()
  let refusesSpam = true
  for (const address of recipients) {
    const policy = await policyOf(address)
    const decision = decideFor(authentication, policy, setting)
    decisions.set(address, decision)
    refusesSpam &&= policy.spam === 'refuse' || decision.kind === 'refuse'
  }
  return {
    message: pickMildest([...decisions.values()]),
    spamReasonOf: (addresses) => {
      const mildest = pickMildest(addresses.flatMap((address) => decisions.get(address) ?? []))
      return mildest.kind === 'accept' ? null : mildest.reason
    },
    refusesSpam,
  }
}

/** A domain that refuses spam refuses also what is spam for its lack of authentication. */
function decideFor(
  authentication: Authentication,
  { dmarc, spam }: InboundPolicy,
  setting: DmarcSetting,
): AcceptanceDecision {
  const effective = dmarc === 'off' ? 'report' : dmarc === 'strict' ? 'strict' : setting
  const decision = decideAcceptance(authentication, effective)
  if (spam === 'file' || decision.kind !== 'spam') return decision
  const text = 'the message is taken for spam, because its author is not authenticated'
  return { kind: 'refuse', reason: decision.reason, code: 550, enhanced: '5.7.1', text }
}

const severity = { accept: 0, spam: 1, refuse: 2 } as const

function pickMildest(decisions: readonly AcceptanceDecision[]): AcceptanceDecision {
  const [first, ...others] = decisions
  if (first === undefined) return { kind: 'accept' }
  return others.reduce((mildest, other) => (severity[other.kind] < severity[mildest.kind] ? other : mildest), first)
}

/**
 * Applies greylisting at RCPT: whether a recipient that is accepted otherwise has to wait, and the reply that says how
 * long.
 *
 * Exempt are recipients without a setting (return paths and system addresses), clients that a DNS allow list trusts,
 * and the networks of `inbound.greylisting.exempt`. SPF is not asked: a spammer's domain passes it too, and DKIM is not
 * known before DATA.
 */

import type { InboundPolicy } from '../../../base/storage/tables/domain-tables.js'
import type { Greylist, GreylistTuple } from '../../../inbound/receiving/greylisting/greylist.js'
import type { SmtpReply } from '../session/smtp-reply.js'

/** `setting` is that of the recipient's domain, or null if it is exempt. Null if the recipient is accepted. */
export async function findGreylistReply(
  greylist: Pick<Greylist, 'applies' | 'check'>,
  setting: InboundPolicy['greylisting'] | null,
  tuple: GreylistTuple,
  allowListings: Promise<readonly unknown[]>,
): Promise<SmtpReply | null> {
  if (setting === null || !greylist.applies(setting, tuple.client) || (await allowListings).length > 0) return null
  const seconds = await greylist.check(tuple)
  if (seconds === 0) return null
  return { code: 451, status: '4.7.1', text: `Greylisted, please try again in ${seconds} seconds` }
}

/** The sending domain that a request names. */

import type { Refusal } from '../../../base/mail/refusal.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { domainById, type SendingDomain } from '../../../workspaces/domains/rows/sending-domains.js'
import { notFound } from '../http/input/values.js'
import type { Call } from '../http/route/route.js'

/** Throws a Refusal `domain-not-found`. */
export async function domainOfCall(
  read: Read,
  { principal: { workspaceId }, params: { id = '' } }: Call<unknown, unknown>,
): Promise<SendingDomain> {
  const [row] = await domainById(read, { workspaceId, id })
  if (row === undefined) throw domainNotFound(id)
  return row
}

export function domainNotFound(id: string): Refusal {
  return notFound('domain-not-found', 'domain', id)
}

/**
 * Requests for `/.well-known/mta-sts.txt` (RFC 8461 section 3.3). The host of the request names the domain. Another
 * room decides which policy that is.
 */
import { Refusal } from '../../../../base/mail/refusal.js'
import type { PolicyFinder } from '../../../../workspaces/domains/mta-sts/find-policy.js'
import type { ApiContext } from '../context/api-context.js'
import { send } from '../output/send-reply.js'

export type Policies = Pick<PolicyFinder, 'find'>

export async function sendPolicy(ctx: ApiContext, policies: Policies): Promise<void> {
  const found = await policies.find(ctx.req.headers.host ?? '')
  switch (found.kind) {
    case 'policy':
      return send(ctx, { status: 200, type: 'text/plain; charset=utf-8', payload: found.text })
    case 'none':
      throw new Refusal('not-found', 'there is no MTA-STS policy for this host')
    case 'unknown':
      throw new Refusal('unavailable', 'the MX records of the domain are not known now', { retry_after: 60 })
  }
}

/** GET /v1/inbound/:id/forwards: what forwarding rules did with an inbound email. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { forwardsOfInbound } from '../../../records/messages/inbound/inbound-forwards.js'
import { json } from '../http/answer.js'
import { uuid } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { requireInboundEmail } from './show.js'

const forwarded = z
  .strictObject({
    to: z.string().meta({ example: 'ann@example.org' }),
    rule_id: uuid,
    status: z.string().meta({
      description: '`not-forwarded`, else the state of the recipient; `forwarded` once that is no longer stored.',
      example: 'delivered',
    }),
    reason: z
      .enum(['spam', 'dmarc', 'loop', 'unconfirmed', 'suppressed', 'size'])
      .nullable()
      .meta({ description: 'Why it was not forwarded.', example: null }),
    response: z
      .string()
      .nullable()
      .meta({ description: 'What the server of the recipient said last.', example: '250 2.0.0 Ok' }),
  })
  .meta({ id: 'ForwardedInbound' })

export function inboundForwardsRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/inbound/:id/forwards',
    area: 'read',
    tag: 'Inbound email',
    summary: 'Show what forwarding rules did with an inbound email',
    answers: {
      200: { description: 'An entry for each address.', schema: z.strictObject({ data: z.array(forwarded) }) },
    },
    refusals: ['not_found'],
    run: async ({ principal: { workspaceId }, params: { id = '' } }) => {
      await requireInboundEmail(read, workspaceId, id)
      const rows = await forwardsOfInbound(read, { workspaceId, id })
      return json(200, {
        data: rows.map(({ target, rule_id, status, reason, state, last_response }) => ({
          to: target,
          rule_id,
          status: status === 'forwarded' ? (state ?? status) : status,
          reason,
          response: last_response,
        })),
      })
    },
  })
}

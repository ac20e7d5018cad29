/** GET /ui/api/sending-domains: verified domains by the beginning of their name, for pages where a sender is chosen. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import { searchVerifiedDomains } from '../../../workspaces/domains/domain-search.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'

/** Names of one answer. */
const MAX_SHOWN = 100
const beginningRule = 'allowed: at most 253 characters'

const query = z.strictObject({
  beginning: z
    .string(beginningRule)
    .max(253, beginningRule)
    .optional()
    .meta({ description: 'Of the name, in any case.', example: 'shop' }),
})
const found = z.strictObject({
  data: z.array(z.string()).meta({ example: ['shop.example.com'] }),
  has_more: z.boolean().meta({ description: 'Whether there may be others with that beginning.' }),
})

export function domainSearchRoute({ read }: { readonly read: Read }): Route {
  return route({
    method: 'GET',
    path: '/sending-domains',
    area: 'read',
    tag: 'Domains',
    summary: 'Search the verified domains by the beginning of their name, in the order of the names',
    query,
    answers: { 200: { description: `At most ${MAX_SHOWN} names.`, schema: found } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query: { beginning = '' } }) => {
      const { names, hasMore } = await searchVerifiedDomains(read, { workspaceId, beginning, limit: MAX_SHOWN })
      return json(200, { data: [...names], has_more: hasMore })
    },
  })
}

/** GET /ui/api/domains/:id/dns: what DNS has now, for the page that helps to publish the records of a domain. */
import { z } from 'zod'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { DomainResolver, ZoneNames } from '../../../workspaces/domains/verification/look-up-records.js'
import { observedStates, observeRecords } from '../../../workspaces/domains/verification/observe-records.js'
import type { CheckLimiter } from '../../../workspaces/domains/verify-domain.js'
import { json } from '../http/answer.js'
import { type Route, route } from '../http/route/route.js'
import { domainOfCall } from './domain-of-call.js'

const observed = z
  .strictObject({
    nameservers: z
      .array(z.string())
      .meta({ description: 'Of the zone; empty if they are not known.', example: ['ns1.example.net'] }),
    records: z.array(
      z.strictObject({
        type: z.enum(['CNAME', 'MX', 'TXT']),
        name: z.string().meta({ example: '_dmarc.example.com' }),
        found: z.array(z.string()).meta({ description: 'The values at that name.', example: ['v=DMARC1; p=none'] }),
        state: z.enum(observedStates).meta({
          description: '`other`: other values are there; `unanswered`: DNS did not answer.',
          example: 'correct',
        }),
      }),
    ),
  })
  .meta({ id: 'ObservedDns' })

interface ObservedDnsDeps {
  readonly read: Read
  readonly resolver: DomainResolver
  readonly names: ZoneNames
  /** Called before DNS is queried about a domain. Throws a Refusal `rate-limited`. */
  readonly lookups: CheckLimiter
}

export function observedDnsRoute(deps: ObservedDnsDeps): Route {
  return route({
    method: 'GET',
    path: '/domains/:id/dns',
    area: 'admin-read',
    tag: 'Domains',
    summary: 'Show what DNS has now in the place of each record of a domain',
    description: 'It changes nothing. At most sixty a minute for a domain.',
    answers: { 200: { description: 'What was found.', schema: observed } },
    refusals: ['domain_not_found'],
    run: async (call) => {
      const row = await domainOfCall(deps.read, call)
      deps.lookups.count(row.id, call.now)
      return json(200, await observeRecords(deps, row))
    },
  })
}

/**
 * GET /ui/api/domains/:id/pace: what slows down mail of a domain: its warm-up at each provider, and providers that take
 * mail of this server slowly. The replies of providers belong to mail of any workspace, so they are left out.
 */
import { z } from 'zod'
import type { Config } from '../../../base/config/complete.js'
import { nameProviderGroup, providerGroups } from '../../../base/mail/mailbox-providers.js'
import { dayOf } from '../../../base/platform/time-units.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { toJson } from '../../../base/storage/tables/columns.js'
import { pacesOfProviders } from '../../../outbound/delivery/shaping/pace-store.js'
import { paceStates, viewPace } from '../../../outbound/delivery/shaping/pace-view.js'
import { EVERY_PROVIDER, warmUpsOfDomain } from '../../../outbound/delivery/sources/warm-up-store.js'
import { viewWarmUp } from '../../../outbound/delivery/sources/warm-up-view.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { domainOfCall } from './domain-of-call.js'

/** Entries of each list. */
const MAX_LISTED = 200

const name = z.string().meta({ example: 'Google' })
const messages = z.int().meta({ example: 100 })
const cap = z.int().nullable().meta({ description: 'Messages a day; null: no limit.', example: 200 })

const pace = z
  .strictObject({
    warms_up: z.boolean().meta({ description: 'Whether the service warms up new domains.', example: true }),
    plan: z.array(z.int()).meta({ description: 'Messages a day, for each day of the plan.', example: [50, 100, 200] }),
    warm_up: z.array(
      z.strictObject({
        name,
        ended: z.boolean().meta({ example: false }),
        day: z.int().nullable().meta({ description: 'Of the plan, from 1.', example: 3 }),
        cap,
        sent: messages.meta({ description: 'Today.' }),
        deferred: messages.meta({ description: 'Of those, deferred because of us.', example: 2 }),
        next_cap: cap,
      }),
    ),
    providers: z
      .array(
        z.strictObject({
          name,
          state: z.enum(paceStates).meta({ example: 'paused' }),
          refusal: z.enum(['rate', 'block']).nullable().meta({
            description: '`rate`: it asked us to slow down; `block`: it blocks our address.',
            example: 'rate',
          }),
          rate: z.number().nullable().meta({ description: 'Messages a second.', example: 118.5 }),
          until: timestamp.nullable(),
        }),
      )
      .meta({ description: 'Those that limit this server at the moment, for mail of all domains.' }),
  })
  .meta({ id: 'DomainPace' })

interface DomainPaceDeps {
  readonly read: Read
  /** They are those of now: a reload may change them. */
  readonly settings: () => Pick<Config, 'outbound'>
}

export function domainPaceRoute(deps: DomainPaceDeps): Route {
  return route({
    method: 'GET',
    path: '/domains/:id/pace',
    area: 'admin-read',
    tag: 'Domains',
    summary: 'Show what slows down the mail of a domain',
    answers: { 200: { description: `At most ${MAX_LISTED} of each list.`, schema: pace } },
    refusals: ['domain_not_found'],
    run: async (call) => {
      const { domain, workspace_id: workspaceId } = await domainOfCall(deps.read, call)
      const { domain_warm_up: warmsUp, warm_up_plan: plan } = deps.settings().outbound
      const rows = await warmUpsOfDomain(deps.read, { workspaceId, domain, limit: MAX_LISTED })
      return json(200, {
        warms_up: warmsUp,
        plan: [...plan],
        warm_up: rows.map((row) => ({
          name: row.provider === EVERY_PROVIDER ? 'All providers' : nameProviderGroup(row.provider),
          ...viewWarmUp(row, plan, dayOf(call.now)),
        })),
        providers: await listLimits(deps.read, call.now),
      })
    },
  })
}

/** Those of hosts that are no provider's tell where other workspaces send, so they are left out. */
async function listLimits(read: Read, now: number): Promise<z.output<typeof pace>['providers']> {
  const rows = await pacesOfProviders(read, { providers: toJson(providerGroups), limit: MAX_LISTED })
  const newestFirst = rows.toSorted((one, other) => other.updated_at - one.updated_at)
  return newestFirst.flatMap((row) => {
    const { name, state, rate, until } = viewPace(row, now)
    return state === 'open' ? [] : [{ name, state, refusal: row.pause_kind, rate, until }]
  })
}

/** The routes of the circuit breaker: what it has found about the workspace's mail, and releasing what it holds. */
import { z } from 'zod'
import { formatTimestamp } from '../../../base/platform/clock.js'
import type { Breaker } from '../../../outbound/breaker/breaker.js'
import { listScopes, type ShownScope, showOk } from '../../../outbound/breaker/list-scopes.js'
import { createReleaseLimit, type ReleaseLimit } from '../../../outbound/breaker/release-limit.js'
import { type ReleaseDeps, releaseById } from '../../../outbound/breaker/release-scope.js'
import { actorOf } from '../../../workspaces/accounts/access/audit-log.js'
import { findOwnerId } from '../../../workspaces/accounts/workspace/workspaces.js'
import { json } from '../http/answer.js'
import { timestamp } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'

const tag = 'Breakers'

const breaker = z
  .strictObject({
    scope: z.enum(['workspace', 'domain', 'broadcast']).meta({ example: 'domain' }),
    id: z.string().meta({
      description: "The workspace's id, the domain of the sender, or the broadcast's id.",
      example: 'example.com',
    }),
    state: z.enum(['ok', 'warning', 'held']).meta({
      description: '`held`: mail is accepted and waits; `warning`: it goes out.',
      example: 'held',
    }),
    since: timestamp.nullable(),
    reason: z.string().nullable().meta({
      description: 'The figures that led to the state; null: it is ok.',
      example: '12.4 % of 1,000 messages of the last day bounced',
    }),
    figures: z
      .strictObject({
        settled: z
          .int()
          .meta({ description: 'Recipients of the last day that were accepted or bounced.', example: 1000 }),
        bounced: z.int().meta({ description: 'Dead addresses of the last day.', example: 124 }),
        delivered: z.int().meta({ description: 'Recipients of the last 7 days that were delivered.', example: 2412 }),
        complained: z.int().meta({ description: 'Complaints of the last 7 days.', example: 1 }),
      })
      .meta({ description: 'Of now.' }),
  })
  .meta({ id: 'Breaker' })
const breakerList = z.strictObject({ data: z.array(breaker) })

interface BreakerRouteDeps extends ReleaseDeps {
  readonly breaker: Breaker
}

export function breakerRoutes(deps: BreakerRouteDeps): readonly Route[] {
  return [listRoute(deps), releaseRoute(deps, createReleaseLimit())]
}

function listRoute({ read }: BreakerRouteDeps): Route {
  return route({
    method: 'GET',
    path: '/breakers',
    area: 'read',
    tag,
    summary: 'Show the bounces and complaints of the workspace, and what is held because of them',
    description: 'The workspace first, then its domains and broadcasts that are not ok, at most 200.',
    answers: { 200: { description: 'What is counted.', schema: breakerList } },
    refusals: [],
    run: async ({ principal: { workspaceId }, now }) =>
      json(200, { data: (await listScopes(read, workspaceId, now)).map(toResource) }),
  })
}

function releaseRoute(deps: BreakerRouteDeps, limit: ReleaseLimit): Route {
  return route({
    method: 'POST',
    path: '/breakers/:id/release',
    area: 'admin',
    tag,
    summary: 'Send what is held because of bounces or complaints',
    description:
      'What was counted so far counts no more. `id` is that of the list; with the id of the workspace, its domains and broadcasts are released too. Twelve at once and four in a day are allowed; the operator may release more.',
    params: { id: "The workspace's id, the domain of the sender, or the broadcast's id." },
    answers: { 200: { description: 'What was released.', schema: breakerList } },
    refusals: ['not_found'],
    run: async ({ principal, params: { id = '' }, now }) => {
      const { workspaceId } = principal
      const owner = await findOwnerId(deps.read, workspaceId)
      limit.check(owner, now)
      const released = await releaseById(deps, { workspaceId, id, actor: actorOf(principal), now })
      limit.count(owner, now)
      await deps.breaker.onReleased(released)
      return json(200, {
        data: await Promise.all(released.map(async (ref) => toResource(await showOk(deps.read, ref, now)))),
      })
    },
  })
}

function toResource({ scope, id, state, since, reason, figures }: ShownScope): z.output<typeof breaker> {
  const { settled, bounced, delivered, complained } = figures
  return {
    ...{ scope, id, state, since: since === null ? null : formatTimestamp(since), reason },
    figures: { settled, bounced, delivered, complained },
  }
}

/** The routes of prefixes to which workspaces send no codes for a while, for the operator: list and release. */
import { z } from 'zod'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { workspaceWithOwner } from '../../../workspaces/accounts/workspace/workspaces.js'
import { isInForce, listHolds, type PrefixHold, readNewestHold, releaseHold } from '../../../workspaces/sms/holds.js'
import { json, noContent } from '../http/answer.js'
import { notFound, timestamp } from '../http/input/values.js'
import { type Route, sessionRoute } from '../http/route/route.js'

const tag = 'Operator'
/** Holds of one answer. */
const MAX_SHOWN = 500

const heldPrefix = z
  .strictObject({
    workspace_id: z.string(),
    workspace_name: z.string(),
    prefix: z.string().meta({ example: '+43664' }),
    held_at: timestamp,
    until_at: timestamp,
    sent: z.int().meta({ description: 'Codes that were sent to it in the hour before.', example: 40 }),
    verified: z.int().meta({ description: 'Of them, those that were entered.', example: 2 }),
  })
  .meta({ id: 'SmsHold' })
const holdList = z.strictObject({
  data: z.array(heldPrefix),
  has_more: z.boolean().meta({ description: 'Whether there are more than these.' }),
})
const prefixRule = 'allowed: a prefix of phone numbers, such as +43664'
const releaseRequest = z
  .strictObject({
    workspace_id: z.string('allowed: the id of a workspace').max(100, 'allowed: the id of a workspace'),
    prefix: z.string(prefixRule).max(20, prefixRule),
  })
  .meta({
    id: 'SmsHoldRelease',
    example: { workspace_id: 'ws_01a1ff35-3880-7ef5-bbba-0d7e1de2529c', prefix: '+43664' },
  })

export function smsHoldRoutes(store: Store): readonly Route[] {
  return [listRoute(store), releaseRoute(store)]
}

function listRoute({ read }: Store): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/sms-holds',
    area: 'operator',
    tag,
    summary: 'List the prefixes of phone numbers that are held, the one that ends first before the others',
    answers: { 200: { description: `At most ${MAX_SHOWN}.`, schema: holdList } },
    refusals: [],
    run: async ({ now }) => {
      const holds = await listHolds(read, now, MAX_SHOWN + 1)
      const data = await Promise.all(holds.slice(0, MAX_SHOWN).map((hold) => showHold(read, hold)))
      return json(200, { data, has_more: holds.length > MAX_SHOWN })
    },
  })
}

async function showHold(read: Read, { workspace_id, prefix, held_at, until_at, sent, verified }: PrefixHold) {
  const [workspace] = await workspaceWithOwner(read, { id: workspace_id })
  return {
    ...{ workspace_id, workspace_name: workspace?.name ?? workspace_id, prefix, sent, verified },
    held_at: iso(held_at),
    until_at: iso(until_at),
  }
}

function releaseRoute(store: Store): Route {
  return sessionRoute({
    method: 'POST',
    path: '/operator/sms-holds/release',
    area: 'operator',
    tag,
    summary: 'Let a workspace send codes to a prefix again',
    description: 'Codes that are entered are counted from now on. The act is in the audit log of the workspace.',
    body: releaseRequest,
    answers: { 204: { description: 'The hold has ended.' } },
    refusals: ['not_found'],
    run: async ({ session: { userId }, body: { workspace_id: workspaceId, prefix }, now }) => {
      const hold = await readNewestHold(store.read, { workspaceId, prefix })
      const isReleased =
        hold !== undefined && isInForce(hold, now) && (await releaseHold(store, hold, { id: userId, keyId: null }, now))
      if (!isReleased) throw notFound('not-found', 'held prefix', prefix)
      return noContent
    },
  })
}

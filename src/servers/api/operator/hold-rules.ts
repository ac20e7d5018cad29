/** The routes of hold rules for the operator: list, add, remove. */
import { z } from 'zod'
import { parseAddress, parseDomainName, tryParseAddress, tryParseDomainName } from '../../../base/mail/address.js'
import { formatTimestamp as iso } from '../../../base/platform/clock.js'
import type { Store } from '../../../base/storage/db/database.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import { waitForStep } from '../../../base/storage/db/stepped-walk.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { SERVICE_WORKSPACE } from '../../../base/storage/tables/tables.js'
import {
  allHoldRules,
  createHoldRule,
  describeHoldRule,
  endHoldRule,
  type HoldRule,
  holdRuleById,
  isPattern,
} from '../../../records/messages/queue/hold-rules.js'
import { countHeldEntries } from '../../../records/messages/queue/ruled-entries.js'
import { workspaceById } from '../../../workspaces/accounts/workspace/workspaces.js'
import { json, noContent } from '../http/answer.js'
import { domainName, notFound, timestamp } from '../http/input/values.js'
import { type Route, sessionRoute } from '../http/route/route.js'

interface HoldRuleRouteDeps extends Store {
  /** Call it after a change. The rules are in effect when it returns. */
  readonly onQueueChanged: () => Promise<void>
}

const tag = 'Operator'
/** Entries of a rule that are counted. */
const MAX_COUNTED = 10_000

const holdRuleView = z
  .strictObject({
    id: z.string().meta({ example: 'hr_c5d5492d' }),
    description: z.string().meta({ example: 'to example.com, until 2030-01-31T09:00:00.000Z' }),
    domain: z.string().nullable(),
    sender: z.string().nullable().meta({ example: null }),
    pattern: z.string().nullable().meta({ example: null }),
    workspace_id: z.string().nullable().meta({ description: 'Null: mail of all workspaces.', example: null }),
    until: timestamp.nullable(),
    state: z.enum(['starting', 'active', 'ending']).meta({ example: 'active' }),
    held: z.int().meta({ description: `Entries that it holds, counted up to ${MAX_COUNTED}.`, example: 12 }),
    created_at: timestamp,
  })
  .meta({ id: 'HoldRule' })

const sender = z
  .string('allowed: an address or a domain')
  .refine(
    (text) => (text.includes('@') ? tryParseAddress(text) : tryParseDomainName(text)) !== null,
    'allowed: an address or a domain',
  )
  .transform((text) => (text.includes('@') ? parseAddress(text) : parseDomainName(text)).toLowerCase())
const pattern = z
  .string('allowed: an address with * for any characters')
  .refine(isPattern, 'allowed: an address with * for any characters, at most 8 times, of at most 254 characters')
  .transform((text) => text.toLowerCase())

const addRequest = z
  .strictObject({
    domain: domainName.optional(),
    sender: sender.optional(),
    pattern: pattern.optional(),
    workspace_id: z.string('allowed: the id of a workspace').max(100, 'allowed: the id of a workspace').optional(),
    until: z.iso.datetime({ offset: true, error: 'allowed: a moment such as 2030-01-31T09:00:00Z' }).optional(),
  })
  .refine(
    ({ domain, sender: from, pattern: to, workspace_id }) =>
      [domain, from, to, workspace_id].some((one) => one !== undefined),
    'a domain, a sender, a pattern or a workspace_id is required',
  )
  .meta({ id: 'HoldRuleRequest', example: { domain: 'example.com', until: '2030-01-31T09:00:00Z' } })

export function holdRuleRoutes(deps: HoldRuleRouteDeps): readonly Route[] {
  return [listRoute(deps), addRoute(deps), removeRoute(deps)]
}

function listRoute({ read }: HoldRuleRouteDeps): Route {
  return sessionRoute({
    method: 'GET',
    path: '/operator/queue/rules',
    area: 'operator',
    tag,
    summary: 'List the hold rules, oldest first',
    answers: {
      200: { description: 'All of them: 200 at most.', schema: z.strictObject({ data: z.array(holdRuleView) }) },
    },
    refusals: [],
    run: async () => {
      const data: z.output<typeof holdRuleView>[] = []
      for (const rule of await allHoldRules(read, {})) {
        data.push(await showRule(read, rule))
        await waitForStep()
      }
      return json(200, { data })
    },
  })
}

function addRoute({ read, commit, onQueueChanged }: HoldRuleRouteDeps): Route {
  return sessionRoute({
    method: 'POST',
    path: '/operator/queue/rules',
    area: 'operator',
    tag,
    summary: 'Hold mail that matches all that is given, now waiting or accepted later',
    body: addRequest,
    answers: { 201: { description: 'It is in effect; each rule is in the audit log.', schema: holdRuleView } },
    refusals: ['conflict', 'not_found'],
    run: async ({ session: { userId }, body, now }) => {
      const { domain = null, sender: from = null, pattern: to = null, workspace_id = null, until } = body
      if (workspace_id !== null && (await workspaceById(read, { id: workspace_id })).length === 0) {
        throw notFound('not-found', 'workspace', workspace_id)
      }
      const end = until === undefined ? null : Date.parse(until)
      const criteria = { domain, sender: from, pattern: to, workspaceId: workspace_id, until: end }
      const { rule, writes } = await createHoldRule(read, criteria, { id: userId, keyId: null }, now)
      await commit(writes)
      await onQueueChanged()
      return json(201, await showRule(read, rule))
    },
  })
}

function removeRoute({ read, commit, onQueueChanged }: HoldRuleRouteDeps): Route {
  return sessionRoute({
    method: 'DELETE',
    path: '/operator/queue/rules/:id',
    area: 'operator',
    tag,
    summary: 'End a hold rule',
    answers: { 204: { description: 'It holds nothing more; its entries are released in portions.' } },
    refusals: ['not_found'],
    run: async ({ session: { userId }, params: { id = '' }, now }) => {
      const [rule] = await holdRuleById(read, { id })
      const isEnded =
        rule?.ending === 0 && (await tryCommit(commit(endHoldRule(rule, { id: userId, keyId: null }, now))))
      if (!isEnded) throw notFound('not-found', 'hold rule', id)
      await onQueueChanged()
      return noContent
    },
  })
}

async function showRule(read: Read, rule: HoldRule): Promise<z.output<typeof holdRuleView>> {
  const { id, domain, sender: from, pattern: to, workspace_id, until, ending, cursor, created_at } = rule
  return {
    ...{ id, domain, sender: from, pattern: to, description: describeHoldRule(rule) },
    workspace_id: workspace_id === SERVICE_WORKSPACE ? null : workspace_id,
    until: until === null ? null : iso(until),
    state: ending === 1 ? 'ending' : cursor === null ? 'active' : 'starting',
    held: await countHeldEntries(read, rule, MAX_COUNTED),
    created_at: iso(created_at),
  }
}

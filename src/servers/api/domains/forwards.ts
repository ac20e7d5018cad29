/**
 * The routes of forwarding rules: /v1/domains/:id/forwards.
 *
 * A rule and the mails that ask its addresses are one commit. Changes are in the audit log as changes of the domain.
 */
import { z } from 'zod'
import type { Address } from '../../../base/mail/address.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { uuidv7 } from '../../../base/platform/ids.js'
import { createSerialRunner, type SerialRunner } from '../../../base/platform/serial-runner.js'
import type { Store } from '../../../base/storage/db/database.js'
import { tryCommit, tryUniqueCommit, type Write } from '../../../base/storage/db/write.js'
import { parseJson, toJson } from '../../../base/storage/tables/columns.js'
import type { ServiceNotice } from '../../../records/messages/service-email.js'
import { actorOf, recordAuditEntry } from '../../../workspaces/accounts/access/audit-log.js'
import {
  deleteRule,
  type ForwardRule,
  insertRule,
  MAX_RULES,
  parseMatch,
  requireNoLoop,
  ruleById,
  rulesOfDomain,
  updateRule,
} from '../../../workspaces/domains/forwards/forward-rules.js'
import { type ForwardTarget, requestTargets } from '../../../workspaces/domains/forwards/forward-targets.js'
import { domainById, type SendingDomain } from '../../../workspaces/domains/rows/sending-domains.js'
import { requireWebhook } from '../../../workspaces/webhooks/webhook-records.js'
import type { Changes } from '../changes.js'
import { type Answer, json } from '../http/answer.js'
import { sliceOf, sliceQuery } from '../http/input/paging.js'
import { notFound, uuid } from '../http/input/values.js'
import { type Call, type Route, route } from '../http/route/route.js'
import {
  type ForwardChangeRequest,
  forward,
  forwardChangeRequest,
  forwardRequest,
  toForwardResource,
} from './forward-fields.js'

export interface ForwardRouteDeps extends Store {
  readonly changes: Changes
  /** The mails that ask these addresses, and what hands them to delivery once they are on disk. */
  readonly buildRequests: (
    asked: readonly Pick<ForwardTarget, 'id' | 'address'>[],
    domain: string,
    workspaceId: string,
    now: number,
  ) => Promise<readonly ServiceNotice[]>
  readonly offer: (enqueued: ServiceNotice['enqueued']) => void
}

interface RuleDeps extends ForwardRouteDeps {
  /**
   * Requests to addresses are counted before they are committed. Without turns, two at once would both be within the
   * limit.
   */
  readonly inTurn: SerialRunner
}

const tag = 'Domains'
const path = '/domains/:id/forwards'
const onePath = `${path}/:forward_id`
const params = { forward_id: 'Of the rule.' }

type AnyCall = Call<unknown, unknown>

export function forwardRoutes(deps: ForwardRouteDeps): readonly Route[] {
  const rules = { ...deps, inTurn: createSerialRunner() }
  return [createRoute(rules), listRoute(deps), getRoute(deps), patchRoute(rules), removeRoute(deps)]
}

function createRoute(deps: RuleDeps): Route {
  return route({
    method: 'POST',
    path,
    area: 'admin',
    tag,
    summary: 'Forward the mail of an address, or of all others, elsewhere',
    description:
      'The domain must be verified and receive mail. Spam, and mail that fails DMARC under a policy against it, is not forwarded.',
    body: forwardRequest,
    answers: { 201: { description: 'The rule.', schema: forward } },
    refusals: ['domain_not_found', 'domain_not_verified', 'webhook_not_found', 'conflict'],
    run: async (call): Promise<Answer> => {
      const { body, principal, now } = call
      const domain = await receivingDomainOf(deps, call)
      const local_part = parseMatch(body.match, domain.domain)
      await requireCapacity(deps, domain)
      const before = { to: [], webhook_id: null, keep: true, enabled: true }
      const values = await toValues(deps, domain, local_part, body, before)
      const place = { id: uuidv7(now), workspace_id: domain.workspace_id, domain_id: domain.id }
      const rule: ForwardRule = { ...place, local_part, ...values, created_at: now }
      if (!(await deps.inTurn(() => commitRule(deps, domain, rule, [insertRule(rule)], { principal, now })))) {
        throw new Refusal('conflict', `the domain has a rule for ${local_part} already`, { field: 'match' })
      }
      return json(201, await toForwardResource(deps.read, rule))
    },
  })
}

function listRoute(deps: ForwardRouteDeps): Route {
  return route({
    method: 'GET',
    path,
    area: 'admin-read',
    tag,
    summary: 'List the forwarding rules of a domain by what they match',
    query: sliceQuery,
    answers: { 200: { description: 'Some of them.', schema: z.strictObject({ data: z.array(forward) }) } },
    refusals: ['domain_not_found'],
    run: async (call) => {
      const { workspace_id: workspaceId, id: domainId } = await domainOfCall(deps, call)
      const rows = sliceOf(await rulesOfDomain(deps.read, { workspaceId, domainId }), call.query)
      return json(200, { data: await Promise.all(rows.map((rule) => toForwardResource(deps.read, rule))) })
    },
  })
}

function getRoute(deps: ForwardRouteDeps): Route {
  return route({
    method: 'GET',
    path: onePath,
    area: 'admin-read',
    tag,
    params,
    summary: 'Show a forwarding rule',
    answers: { 200: { description: 'The rule.', schema: forward } },
    refusals: ['domain_not_found', 'not_found'],
    run: async (call) =>
      json(200, await toForwardResource(deps.read, await ruleOfCall(deps, await domainOfCall(deps, call), call))),
  })
}

function patchRoute(deps: RuleDeps): Route {
  return route<undefined, ForwardChangeRequest>({
    method: 'PATCH',
    path: onePath,
    area: 'admin',
    tag,
    params,
    summary: 'Change a forwarding rule',
    description: 'Fields that are not given stay unchanged. An address that did not answer is asked again after a day.',
    body: forwardChangeRequest,
    answers: { 200: { description: 'The rule.', schema: forward } },
    refusals: ['domain_not_found', 'domain_not_verified', 'not_found', 'webhook_not_found'],
    run: async (call): Promise<Answer> => {
      const { body, principal, now } = call
      const domain = await receivingDomainOf(deps, call)
      const old = await ruleOfCall(deps, domain, call)
      const values = await toValues(deps, domain, old.local_part, body, {
        to: parseJson(old.targets),
        webhook_id: old.webhook_id,
        keep: old.keep === 1,
        enabled: old.enabled === 1,
      })
      const rule = { ...old, ...values }
      const change = updateRule({ ...values, workspaceId: domain.workspace_id, domainId: domain.id, id: old.id })
      if (!(await deps.inTurn(() => commitRule(deps, domain, rule, [change], { principal, now }))))
        throw ruleNotFound(old.id)
      return json(200, await toForwardResource(deps.read, rule))
    },
  })
}

function removeRoute(deps: ForwardRouteDeps): Route {
  return route({
    method: 'DELETE',
    path: onePath,
    area: 'admin',
    tag,
    params,
    summary: 'Delete a forwarding rule',
    description: 'Mail that is in the queue because of it is still delivered.',
    answers: { 200: { description: 'It is gone.', schema: z.strictObject({ deleted: z.literal(true), id: uuid }) } },
    refusals: ['domain_not_found', 'not_found'],
    run: async (call): Promise<Answer> => {
      const { principal, now } = call
      const domain = await domainOfCall(deps, call)
      const rule = await ruleOfCall(deps, domain, call)
      const { workspace_id: workspaceId, id: domainId } = domain
      const writes = [
        deleteRule({ workspaceId, domainId, id: rule.id }),
        auditEntryOf(domain, { forward_deleted: rule.local_part }, { principal, now }),
      ]
      if (!(await tryCommit(deps.commit(writes)))) throw ruleNotFound(rule.id)
      deps.changes.domainChanged({ workspaceId, domain: domain.domain })
      return json(200, { deleted: true, id: rule.id })
    },
  })
}

interface RuleInput {
  readonly to?: readonly Address[] | undefined
  readonly webhook_id?: string | null | undefined
  readonly keep?: boolean | undefined
  readonly enabled?: boolean | undefined
}

type RuleValues = Pick<ForwardRule, 'targets' | 'webhook_id' | 'keep' | 'enabled'>

/** Throws a Refusal if the rule would do nothing, would go in a circle, or names a webhook that does not exist. */
async function toValues(
  { read }: Store,
  { workspace_id: workspaceId, domain }: SendingDomain,
  match: string,
  input: RuleInput,
  before: Required<RuleInput>,
): Promise<RuleValues> {
  const targets = [...new Set(input.to ?? before.to ?? [])]
  const webhook = input.webhook_id === undefined ? (before.webhook_id ?? null) : input.webhook_id
  if (targets.length === 0 && webhook === null) {
    throw new Refusal('invalid-parameter', 'to: a rule needs an address or a webhook_id', { field: 'to' })
  }
  requireNoLoop(match, domain, targets)
  if (webhook !== null && input.webhook_id !== undefined) await requireWebhook(read, { workspaceId, id: webhook })
  return {
    targets: toJson(targets),
    webhook_id: webhook,
    keep: (input.keep ?? before.keep) === true ? 1 : 0,
    enabled: (input.enabled ?? before.enabled) === true ? 1 : 0,
  }
}

type Act = Pick<Call<unknown, unknown>, 'principal' | 'now'>

/** False if a write missed, or violated a constraint. */
async function commitRule(
  deps: ForwardRouteDeps,
  domain: SendingDomain,
  rule: ForwardRule,
  change: readonly Write[],
  act: Act,
): Promise<boolean> {
  const { workspace_id: workspaceId, domain: name } = domain
  const requests = await requestTargets(deps.read, workspaceId, parseJson(rule.targets), act.now)
  const notices = await deps.buildRequests(requests.asked, name, workspaceId, act.now)
  const writes = [
    ...change,
    ...requests.writes,
    ...notices.flatMap(({ enqueued }) => enqueued.writes),
    auditEntryOf(domain, { forward: rule.local_part, to: parseJson(rule.targets) }, act),
  ]
  if (!(await tryUniqueCommit(deps.commit(writes)))) return false
  deps.changes.domainChanged({ workspaceId, domain: name })
  for (const { enqueued } of notices) deps.offer(enqueued)
  return true
}

function auditEntryOf(
  { workspace_id: workspaceId, id: target, domain }: SendingDomain,
  details: Readonly<Record<string, unknown>>,
  { principal, now: at }: Act,
): Write {
  const actor = actorOf(principal)
  return recordAuditEntry({ workspaceId, actor, action: 'domain.changed', target, at, details: { domain, ...details } })
}

async function requireCapacity(
  { read }: Store,
  { workspace_id: workspaceId, id: domainId }: SendingDomain,
): Promise<void> {
  if ((await rulesOfDomain(read, { workspaceId, domainId })).length < MAX_RULES) return
  throw new Refusal('invalid-parameter', `match: a domain may have ${MAX_RULES} rules`, { field: 'match' })
}

/** The domain, if it is verified and receives mail. */
async function receivingDomainOf(deps: Store, call: AnyCall): Promise<SendingDomain> {
  const domain = await domainOfCall(deps, call)
  if (domain.status === 'verified' && domain.inbound === 1) return domain
  throw new Refusal('domain-not-verified', `${domain.domain} must be verified and receive mail (inbound)`, {
    domain: domain.domain,
  })
}

async function domainOfCall({ read }: Store, call: AnyCall): Promise<SendingDomain> {
  const { id = '' } = call.params
  const [row] = await domainById(read, { workspaceId: call.principal.workspaceId, id })
  if (row === undefined) throw notFound('domain-not-found', 'domain', id)
  return row
}

async function ruleOfCall(
  { read }: Store,
  { workspace_id: workspaceId, id: domainId }: SendingDomain,
  { params: { forward_id: id = '' } }: AnyCall,
): Promise<ForwardRule> {
  const [rule] = await ruleById(read, { workspaceId, domainId, id })
  if (rule === undefined) throw ruleNotFound(id)
  return rule
}

function ruleNotFound(id: string): Refusal {
  return notFound('not-found', 'forwarding rule', id)
}

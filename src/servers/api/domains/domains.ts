/** The routes of sending domains: register, show with the DNS records to publish, verify, change, rotate keys, delete. */
import type { Read } from '../../../base/storage/db/prepared.js'
import { tryCommit } from '../../../base/storage/db/write.js'
import { actorOf } from '../../../workspaces/accounts/access/audit-log.js'
import { changeDomain, type DomainChange } from '../../../workspaces/domains/change-domain.js'
import { deleteSendingDomain } from '../../../workspaces/domains/delete-domain.js'
import { registerDomain } from '../../../workspaces/domains/register-domain.js'
import { type RotationDeps, rotateKeys } from '../../../workspaces/domains/rotate-keys.js'
import { parseRegistrableName, type ServiceNames } from '../../../workspaces/domains/rows/registrable-name.js'
import { domainById, listDomains, type SendingDomain } from '../../../workspaces/domains/rows/sending-domains.js'
import {
  listBlockedLocalParts,
  parseBlockedLocalPart,
} from '../../../workspaces/domains/verification/blocked-addresses.js'
import type { ZoneNames } from '../../../workspaces/domains/verification/look-up-records.js'
import { type CheckLimiter, verifyDomain } from '../../../workspaces/domains/verify-domain.js'
import type { Changes, DomainRef } from '../changes.js'
import { type Answer, json } from '../http/answer.js'
import { buildList, listSchema, sliceAfterQuery, withNext } from '../http/input/paging.js'
import { goneSchema, uuid } from '../http/input/values.js'
import { type Route, route } from '../http/route/route.js'
import { domainAlone, domainInList, readDomain, toListedDomain } from './domain-answers.js'
import { type DomainChangeRequest, domainChangeRequest, domainRequest, switchesOf } from './domain-fields.js'
import { domainNotFound, domainOfCall } from './domain-of-call.js'
import { domainReportRoutes } from './domain-reports.js'

interface DomainDeps extends RotationDeps {
  readonly changes: Changes
  readonly names: ServiceNames & ZoneNames
  /** Called before DNS is queried about a domain. Throws a Refusal `rate-limited`. */
  readonly lookups: CheckLimiter
}

const tag = 'Domains'
/** Bytes of a thousand blocked addresses, escaped. */
const MAX_CHANGE = 1_048_576

export function domainRoutes(deps: DomainDeps): readonly Route[] {
  return [
    registerRoute(deps),
    listRoute(deps),
    getRoute(deps),
    patchRoute(deps),
    verifyRoute(deps),
    rotateRoute(deps),
    removeRoute(deps),
    ...domainReportRoutes(deps),
  ]
}

function registerRoute(deps: DomainDeps): Route {
  return route({
    method: 'POST',
    path: '/domains',
    area: 'admin',
    tag,
    summary: 'Register a sending domain',
    description: 'At most ten an hour. A domain that another workspace has registered but not verified is allowed.',
    body: domainRequest,
    answers: { 201: { description: 'The domain, with the DNS records to publish.', schema: domainAlone } },
    refusals: ['conflict', 'domain_already_exists'],
    run: async ({ principal, body, now }) => {
      const domain = parseRegistrableName(body.domain ?? body.name ?? '', deps.names)
      const { workspaceId } = principal
      const { inbound = false, ...tracking } = switchesOf(body)
      const act = { actor: actorOf(principal), now }
      const row = await registerDomain(deps, { workspaceId, domain, inbound, forced: false, ...act }, true)
      await changeDomain(deps, row, tracking, act)
      deps.changes.domainChanged({ workspaceId, domain })
      const [registered = row] = await domainById(deps.read, { workspaceId, id: row.id })
      return json(201, await readDomain(deps.read, registered, deps.names))
    },
  })
}

function listRoute({ read, names }: DomainDeps): Route {
  return route({
    method: 'GET',
    path: '/domains',
    area: 'admin-read',
    tag,
    summary: 'List the sending domains, oldest first',
    query: sliceAfterQuery,
    answers: { 200: { description: 'Some of them.', schema: listSchema(domainInList) } },
    refusals: [],
    run: async ({ principal: { workspaceId }, query }) => {
      const rows = await listDomains(read, workspaceId, withNext(query))
      return json(
        200,
        buildList(rows, query.limit, (row) => toListedDomain(row, names.zone)),
      )
    },
  })
}

function getRoute({ read, names }: DomainDeps): Route {
  return route({
    method: 'GET',
    path: '/domains/:id',
    area: 'admin-read',
    tag,
    summary: 'Show a sending domain',
    answers: { 200: { description: 'The domain.', schema: domainAlone } },
    refusals: ['domain_not_found'],
    run: async (call) => json(200, await readDomain(read, await domainOfCall(read, call), names)),
  })
}

function patchRoute(deps: DomainDeps): Route {
  return route<undefined, DomainChangeRequest>({
    method: 'PATCH',
    path: '/domains/:id',
    area: 'admin',
    tag,
    summary: 'Change what a domain receives, and the tracking of its mail',
    description:
      'Fields that are not given stay unchanged. Mail to a blocked address is refused; `postmaster` cannot be blocked.',
    body: domainChangeRequest,
    maxBody: MAX_CHANGE,
    answers: { 200: { description: 'The domain.', schema: domainAlone } },
    refusals: ['domain_not_found', 'domain_not_verified'],
    run: async (call): Promise<Answer> => {
      const row = await domainOfCall(deps.read, call)
      const { principal, now } = call
      const act = { actor: actorOf(principal), now }
      if (!(await tryCommit(changeDomain(deps, row, await toDomainChange(deps.read, row, call.body), act))))
        throw domainNotFound(row.id)
      deps.changes.domainChanged(domainRefOf(row))
      return json(200, await readDomain(deps.read, await domainOfCall(deps.read, call), deps.names))
    },
  })
}

/** `blocked_addresses` is the complete new list; the change has the difference to the present one. */
async function toDomainChange(
  read: Read,
  row: SendingDomain,
  { blocked_addresses: blocked, inbound_policy: policy, ...given }: DomainChangeRequest,
): Promise<DomainChange> {
  const switches = { ...switchesOf(given), inboundPolicy: policy }
  if (blocked === undefined) return switches
  const { domain } = row
  const block = new Set(blocked.map((given, at) => parseBlockedLocalPart(given, domain, `blocked_addresses[${at}]`)))
  return {
    ...switches,
    block: [...block],
    unblock: (await listBlockedLocalParts(read, row)).filter((key) => !block.has(key)),
  }
}

function verifyRoute(deps: DomainDeps): Route {
  return route({
    method: 'POST',
    path: '/domains/:id/verify',
    area: 'admin',
    tag,
    summary: 'Check the records of a domain in DNS now',
    description:
      'A CNAME to the value shown is correct, and so are records with the same data, set by hand or by a DNS host that resolves the CNAME itself. `details.records` of a refusal has what was found. At most sixty checks a minute. A verified domain has 72 hours to repair its records.',
    answers: { 200: { description: 'The domain; all records are correct.', schema: domainAlone } },
    refusals: [
      'domain_not_found',
      'domain_already_exists',
      'domain_verification_failed',
      'dkim_verification_failed',
      'spf_verification_failed',
      'gateway_timeout',
    ],
    run: async (call): Promise<Answer> => {
      const row = await domainOfCall(deps.read, call)
      const { principal, now } = call
      deps.lookups.count(row.id, now)
      const checked = await verifyDomain(deps, row, actorOf(principal), now).finally(() =>
        deps.changes.domainChanged(domainRefOf(row)),
      )
      if (checked === undefined) throw domainNotFound(row.id)
      return json(200, await readDomain(deps.read, checked.row, deps.names))
    },
  })
}

function rotateRoute(deps: DomainDeps): Route {
  return route({
    method: 'POST',
    path: '/domains/:id/rotate',
    area: 'admin',
    tag,
    summary: 'Sign with the other DKIM key',
    description:
      'At once if DNS has that key; else `rotation` shows what is missing, and the rotation completes without another request. Repeating the request during a rotation is not an error.',
    answers: { 200: { description: 'The domain.', schema: domainAlone } },
    refusals: ['domain_not_found', 'domain_not_verified'],
    run: async (call): Promise<Answer> => {
      const row = await domainOfCall(deps.read, call)
      const { principal, now } = call
      deps.lookups.count(row.id, now)
      await rotateKeys(deps, row, { actor: actorOf(principal), now })
      deps.changes.domainChanged(domainRefOf(row))
      return json(200, await readDomain(deps.read, await domainOfCall(deps.read, call), deps.names))
    },
  })
}

function domainRefOf({ workspace_id: workspaceId, domain }: SendingDomain): DomainRef {
  return { workspaceId, domain }
}

function removeRoute(deps: DomainDeps): Route {
  return route({
    method: 'DELETE',
    path: '/domains/:id',
    area: 'admin',
    tag,
    summary: 'Delete a sending domain',
    description: 'Nothing more is sent from it, and its queued mail fails.',
    answers: {
      200: { description: 'It is gone.', schema: goneSchema('domain', uuid) },
    },
    refusals: ['domain_not_found'],
    run: async (call): Promise<Answer> => {
      const row = await domainOfCall(deps.read, call)
      const { principal, now: at } = call
      if (!(await tryCommit(deleteSendingDomain(deps, row, actorOf(principal), at)))) throw domainNotFound(row.id)
      await deps.changes.domainDeleted({ ...domainRefOf(row), at })
      return json(200, { object: 'domain', deleted: true, id: row.id })
    },
  })
}

/** Sending domains: registered, shown with the DNS records to publish, changed, deleted. */
import { z } from 'zod'
import { actorOf } from '../accounts/audit-log.js'
import { blockableKey, blockedKeys, MAX_BLOCKED } from '../domains/blocked-addresses.js'
import { changeDomain, type DomainChange } from '../domains/change-domain.js'
import { deleteSendingDomain } from '../domains/delete-domain.js'
import { domainDetails, domainResource } from '../domains/domain-resource.js'
import { registerDomain } from '../domains/register-domain.js'
import { type OwnNames, registrableName } from '../domains/registrable-name.js'
import { domainById, domainsSlice, type SendingDomain } from '../domains/sending-domains.js'
import type { DomainName } from '../mail/address.js'
import type { Refusal } from '../mail/refusal.js'
import type { GoneDomain } from '../messages/fail-domain.js'
import type { Read } from '../storage/prepared.js'
import { unlessMissed } from '../storage/unless-missed.js'
import type { Commit } from '../storage/write.js'
import { atMost } from './bounded.js'
import { sliceQuery } from './paging.js'
import { type Answer, type Call, json, type Route, route } from './route.js'
import { notFound, timestamp, uuid } from './values.js'

export type DomainPlace = Pick<GoneDomain, 'workspaceId' | 'domain'>

export interface DomainDeps {
  readonly read: Read
  readonly commit: Commit
  /** Nothing that was remembered of it counts any more, and the mail that waits is to fail; nobody waits for that here. */
  readonly deleted: (gone: GoneDomain) => void
  /** Nothing that was remembered of it counts any more. */
  readonly changed: (place: DomainPlace) => void
  readonly names: OwnNames
}

const wantedDomain = z.strictObject({
  domain: z
    .string('allowed: a domain name')
    .max(300, 'allowed: a domain name')
    .meta({ description: 'International names in either form.' }),
  inbound: z.boolean('allowed: true or false').default(false),
})

const dnsRecord = z.strictObject({
  type: z.literal('CNAME'),
  name: z.string(),
  value: z.string(),
  purpose: z.enum(['mail_cname', 'dkim1', 'dkim2']),
  status: z.enum(['pending', 'verified']),
})
const shownDomain = z.strictObject({
  id: uuid,
  domain: z.string(),
  status: z.enum(['pending', 'verified', 'failed']),
  inbound: z.boolean(),
  dns_records: z.array(dnsRecord),
  created_at: timestamp,
  verified_at: timestamp.nullable(),
})

const detailedDomain = shownDomain.extend({
  blocked_addresses: z.array(z.string()).meta({ description: 'To which the domain takes no mail.' }),
})

const change = z.strictObject({
  inbound: z
    .boolean('allowed: true or false')
    .optional()
    .meta({ description: 'Whether it takes mail in. To turn it on the domain must be verified.' }),
  blocked_addresses: atMost(
    MAX_BLOCKED,
    'addresses',
    z.array(
      z.string('allowed: a local part, or an address of the domain').max(320, 'allowed: a local part or address'),
    ),
  )
    .optional()
    .meta({ description: 'All of them: those that are missing are open again. Exact: `a` does not block `a+b`.' }),
})

type ChangeRequest = z.output<typeof change>

const tag = 'Domains'

export function domainRoutes(deps: DomainDeps): readonly Route[] {
  return [register(deps), list(deps), get(deps), patch(deps), remove(deps)]
}

function register(deps: DomainDeps): Route {
  return route({
    method: 'POST',
    path: '/domains',
    area: 'admin',
    tag,
    summary: 'Register a sending domain',
    description: 'At most ten in an hour. Another workspace that has not verified the domain is no hindrance.',
    body: wantedDomain,
    answers: { 201: { description: 'The domain, with the DNS records to publish.', schema: detailedDomain } },
    refusals: ['conflict', 'domain_already_exists'],
    run: async ({ principal, body: { domain: given, inbound }, now }) => {
      const domain = registrableName(given, deps.names)
      const { workspaceId } = principal
      const wanted = { workspaceId, domain, inbound, forced: false, now, actor: actorOf(principal) }
      const row = await registerDomain(deps, wanted, true)
      deps.changed({ workspaceId, domain })
      return json(201, domainDetails(deps.read, row, deps.names.zone))
    },
  })
}

function list({ read, names }: DomainDeps): Route {
  return route({
    method: 'GET',
    path: '/domains',
    area: 'admin-read',
    tag,
    summary: 'List the sending domains, oldest first',
    query: sliceQuery,
    answers: { 200: { description: 'Some of them.', schema: z.strictObject({ data: z.array(shownDomain) }) } },
    refusals: [],
    run: ({ principal: { workspaceId }, query: { limit, offset } }) => {
      const rows = domainsSlice(read, { workspaceId, limit, offset })
      return json(200, { data: rows.map((row) => domainResource(row, names.zone)) })
    },
  })
}

function get({ read, names }: DomainDeps): Route {
  return route({
    method: 'GET',
    path: '/domains/:id',
    area: 'admin-read',
    tag,
    summary: 'Show a sending domain',
    answers: { 200: { description: 'The domain.', schema: detailedDomain } },
    refusals: ['domain_not_found'],
    run: (call) => json(200, domainDetails(read, found(read, call), names.zone)),
  })
}

function patch(deps: DomainDeps): Route {
  return route<undefined, ChangeRequest>({
    method: 'PATCH',
    path: '/domains/:id',
    area: 'admin',
    tag,
    summary: 'Change what a domain takes in',
    description: 'What is not named stays. Mail to a blocked address is refused; `postmaster` cannot be blocked.',
    body: change,
    answers: { 200: { description: 'The domain.', schema: detailedDomain } },
    refusals: ['domain_not_found', 'domain_not_verified'],
    run: async (call): Promise<Answer> => {
      const row = found(deps.read, call)
      const { principal, now } = call
      const act = { actor: actorOf(principal), now }
      if (!(await unlessMissed(changeDomain(deps, row, changeOf(deps.read, row, call.body), act))))
        throw unknown(row.id)
      deps.changed({ workspaceId: row.workspace_id, domain: row.domain as DomainName })
      return json(200, domainDetails(deps.read, found(deps.read, call), deps.names.zone))
    },
  })
}

/** The whole list as it shall be, as a difference to what is there. */
function changeOf(read: Read, row: SendingDomain, { inbound, blocked_addresses: wanted }: ChangeRequest): DomainChange {
  if (wanted === undefined) return { inbound }
  const domain = row.domain as DomainName
  const block = new Set(wanted.map((given, at) => blockableKey(given, domain, `blocked_addresses[${at}]`)))
  return { inbound, block: [...block], unblock: blockedKeys(read, row).filter((key) => !block.has(key)) }
}

function remove(deps: DomainDeps): Route {
  return route({
    method: 'DELETE',
    path: '/domains/:id',
    area: 'admin',
    tag,
    summary: 'Delete a sending domain',
    description: 'Nothing more is sent from it; mail of it that waits in the queue fails.',
    answers: {
      200: { description: 'It is gone.', schema: z.strictObject({ deleted: z.literal(true), id: uuid }) },
    },
    refusals: ['domain_not_found'],
    run: async (call): Promise<Answer> => {
      const row = found(deps.read, call)
      const { principal, now: at } = call
      if (!(await unlessMissed(deleteSendingDomain(deps, row, actorOf(principal), at)))) throw unknown(row.id)
      deps.deleted({ workspaceId: row.workspace_id, domain: row.domain as DomainName, at })
      return json(200, { deleted: true, id: row.id })
    },
  })
}

function found(read: Read, { principal: { workspaceId }, params: { id = '' } }: Call<unknown, unknown>): SendingDomain {
  const [row] = domainById(read, { workspaceId, id })
  if (row === undefined) throw unknown(id)
  return row
}

function unknown(id: string): Refusal {
  return notFound('domain-not-found', 'domain', id)
}

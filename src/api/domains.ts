/** Sending domains: registered, shown with the DNS records to publish, deleted. */
import { z } from 'zod'
import { actorOf } from '../accounts/audit-log.js'
import { deleteSendingDomain } from '../domains/delete-domain.js'
import { domainResource } from '../domains/domain-resource.js'
import { registerDomain } from '../domains/register-domain.js'
import { type OwnNames, registrableName } from '../domains/registrable-name.js'
import { domainById, domainsSlice, type SendingDomain } from '../domains/sending-domains.js'
import type { DomainName } from '../mail/address.js'
import type { Refusal } from '../mail/refusal.js'
import type { GoneDomain } from '../messages/fail-domain.js'
import type { Read } from '../storage/prepared.js'
import { unlessMissed } from '../storage/unless-missed.js'
import type { Commit } from '../storage/write.js'
import { sliceQuery } from './paging.js'
import { type Answer, type Call, json, type Route, route } from './route.js'
import { notFound, timestamp, uuid } from './values.js'

export interface DomainDeps {
  readonly read: Read
  readonly commit: Commit
  /** Nothing that was remembered of it counts any more, and the mail that waits is to fail; nobody waits for that here. */
  readonly deleted: (gone: GoneDomain) => void
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

const tag = 'Domains'

export function domainRoutes(deps: DomainDeps): readonly Route[] {
  return [register(deps), list(deps), get(deps), remove(deps)]
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
    answers: { 201: { description: 'The domain, with the DNS records to publish.', schema: shownDomain } },
    refusals: ['conflict', 'domain_already_exists'],
    run: async ({ principal, body: { domain: given, inbound }, now }) => {
      const domain = registrableName(given, deps.names)
      const { workspaceId } = principal
      const wanted = { workspaceId, domain, inbound, forced: false, now, actor: actorOf(principal) }
      return json(201, domainResource(await registerDomain(deps, wanted, true), deps.names.zone))
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
    answers: { 200: { description: 'The domain.', schema: shownDomain } },
    refusals: ['domain_not_found'],
    run: (call) => json(200, domainResource(found(read, call), names.zone)),
  })
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

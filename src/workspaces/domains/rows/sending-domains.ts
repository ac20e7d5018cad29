/**
 * A *sending domain* is one that a workspace has registered, and may send from once it is verified: its record and its
 * states.
 *
 *   pending -> verified | failed,  failed -> verified,  verified -> failed (after grace)
 *   (when, is decided in `check-outcome.ts`)
 *
 * Several workspaces may claim a domain, but only one has it verified (unique index `domains_verified_once`), so an
 * unverified claim does not block others.
 */
import { type Selectable, sql } from 'kysely'
import { type DomainName, parseDomainName, tryParseDomainName } from '../../../base/mail/address.js'
import { patchJson } from '../../../base/storage/db/dialect.js'
import { type CreationPage, isAfterPlace, slicesByCreation } from '../../../base/storage/db/paging.js'
import { prepareRead, prepareWrite, type StatementBuilder } from '../../../base/storage/db/prepared.js'
import type { Flag, Json } from '../../../base/storage/tables/columns.js'
import type { InboundPolicy } from '../../../base/storage/tables/domain-tables.js'
import type { Tables } from '../../../base/storage/tables/tables.js'

const MAIL_LABEL = 'posthorn.'

export type SendingDomain = Selectable<Tables['domains']>

export const insertDomain = prepareWrite<SendingDomain>(({ db, slot }) =>
  db.insertInto('domains').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    domain: slot('domain'),
    status: slot('status'),
    forced: slot('forced'),
    inbound: slot('inbound'),
    track_opens: slot('track_opens'),
    track_clicks: slot('track_clicks'),
    created_at: slot('created_at'),
    verified_at: slot('verified_at'),
    record_states: slot('record_states'),
    checked_at: slot('checked_at'),
    next_check_at: slot('next_check_at'),
    unproved_since: slot('unproved_since'),
    rotation_asked_at: slot('rotation_asked_at'),
    inbound_policy: slot('inbound_policy'),
  }),
)

/** What a domain says of opens or clicks: null if each interface has its own default. */
export function toSwitch(flag: Flag | null): boolean | null {
  return flag === null ? null : flag === 1
}

/** Marks the domain as verified by the operator's decision, for closed networks without DNS. */
export const forceVerified = prepareWrite<{ workspaceId: string; domain: DomainName; at: number }>(
  ({ db, slot }) =>
    db
      .updateTable('domains')
      .set({ status: 'verified', forced: 1, verified_at: slot('at'), unproved_since: null, next_check_at: null })
      .where('workspace_id', '=', slot('workspaceId'))
      .where('domain', '=', slot('domain')),
  1,
)

export interface DomainSettings {
  readonly inbound: Flag | null
  /** Set if `sets_opens` is 1: then null is a value too. */
  readonly track_opens: Flag | null
  readonly sets_opens: Flag
  readonly track_clicks: Flag | null
  readonly sets_clicks: Flag
  /** The words that change. */
  readonly inbound_policy: Json<Partial<InboundPolicy>> | null
}

/** An `inbound` or `inbound_policy` that is null stays unchanged. Misses if the workspace no longer has the domain. */
export const setDomainSettings = prepareWrite<DomainSettings & { workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db
      .updateTable('domains')
      .set((eb) => ({
        inbound: eb.fn.coalesce(eb.val(slot('inbound')), 'inbound'),
        track_opens: sql<Flag | null>`case when ${slot('sets_opens')} then ${slot('track_opens')} else track_opens end`,
        track_clicks: sql<Flag | null>`case when ${slot('sets_clicks')} then ${slot('track_clicks')} else track_clicks end`,
        inbound_policy: patchJson('inbound_policy', sql`coalesce(${slot('inbound_policy')}, '{}')`),
      }))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('id', '=', slot('id')),
  1,
)

/** Misses if the workspace no longer has the domain. */
export const deleteDomain = prepareWrite<{ workspaceId: string; id: string }>(
  ({ db, slot }) =>
    db.deleteFrom('domains').where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
  1,
)

export const domainById = prepareRead<{ workspaceId: string; id: string }>()(({ db, slot }) =>
  db.selectFrom('domains').selectAll().where('workspace_id', '=', slot('workspaceId')).where('id', '=', slot('id')),
)

export const domainByName = prepareRead<{ workspaceId: string; domain: DomainName }>()(({ db, slot }) =>
  db
    .selectFrom('domains')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain', '=', slot('domain')),
)

function selectDomains<Values extends { workspaceId: string }>({ db, slot }: StatementBuilder<Values>) {
  return db
    .selectFrom('domains')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .orderBy('created_at')
    .orderBy('id')
}

/** Verified domains of a workspace, oldest first. */
export const verifiedDomainNames = prepareRead<{ workspaceId: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('domains')
    .select('domain')
    .where('workspace_id', '=', slot('workspaceId'))
    .where('status', '=', 'verified')
    .orderBy('created_at')
    .orderBy('id')
    .limit(slot('limit')),
)

export const domainsOfWorkspace = prepareRead<{ workspaceId: string }>()((builder) => selectDomains(builder))

const domainsAfter = prepareRead<CreationPage>()((builder) =>
  selectDomains(builder).where(isAfterPlace(builder)).limit(builder.slot('limit')),
)

/** A page of the domains, in the same order. */
export const listDomains = slicesByCreation('domains', domainsAfter)

/**
 * The verified domain of any workspace. It says whose domain it is, and whether another verification would conflict.
 */
export const verifiedByName = prepareRead<{ domain: DomainName }>()(({ db, slot }) =>
  db
    .selectFrom('domains')
    .select(['id', 'workspace_id', 'inbound', 'inbound_policy'])
    .where('domain', '=', slot('domain'))
    // SQLite uses the partial index only for a literal.
    .where('status', '=', sql.lit('verified' as const)),
)

/** A page of the verified domains of all workspaces, in the order of their names. */
export const verifiedAfter = prepareRead<{ after: string; limit: number }>()(({ db, slot }) =>
  db
    .selectFrom('domains')
    .select(['domain', 'record_states'])
    .where('status', '=', sql.lit('verified' as const))
    .where('domain', '>', sql<DomainName>`${slot('after')}`)
    .orderBy('domain')
    .limit(slot('limit')),
)

/**
 * The domain's mail host, a CNAME into the service zone. Return paths and tracking links use it, so that SPF aligns
 * with the From domain.
 */
export function mailHostOf(domain: string): DomainName {
  return parseDomainName(`${MAIL_LABEL}${domain}`)
}

/** The domain that has this mail host. It is null if this is not the name of a mail host. */
export function domainOfMailHost(host: DomainName): DomainName | null {
  return host.startsWith(MAIL_LABEL) ? tryParseDomainName(host.slice(MAIL_LABEL.length)) : null
}

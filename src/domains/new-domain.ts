/**
 * A new sending domain: who may claim it, and the claim with its two DKIM keys as writes
 * of one commit.
 */
import { type DomainName, formatForDisplay } from '../mail/address.js'
import { Refusal } from '../mail/refusal.js'
import { uuidv7 } from '../platform/ids.js'
import type { Read } from '../storage/prepared.js'
import { toJson } from '../storage/tables/columns.js'
import type { Write } from '../storage/writer/write.js'
import { type DkimKeyPair, generateDkimKey, importDkimKey } from './dkim/key.js'
import {
  type DkimKeyRow,
  deleteDkimKey,
  deleteIdleKey,
  insertDkimKey,
  selectors,
  stopSigning,
} from './dkim/signing-keys.js'
import { domainByName, insertDomain, type SendingDomain, verifiedByName } from './sending-domains.js'

/** 254 octets of an address, less the 50 of `bounce+<token>@` and the 9 of `posthorn.`. */
const MAX_DOMAIN_LENGTH = 195

/** As much as one label: the rest of its name in the zone must find room too. */
const MAX_SELECTOR_LENGTH = 63

/** Nobody has published its records before. */
const FIRST_CHECK_DELAY = 3_600_000

export interface DomainRequest {
  readonly workspaceId: string
  readonly domain: DomainName
  /** Verified by the operator's word, without DNS. */
  readonly forced: boolean
  readonly inbound: boolean
  readonly now: number
}

export interface NewDomain {
  readonly row: SendingDomain
  readonly writes: Write[]
}

/** Throws a Refusal as `refuseClaim` does. */
export async function buildDomain(read: Read, wanted: DomainRequest): Promise<NewDomain> {
  const { workspaceId, domain, now } = wanted
  requireClaimable(read, wanted)
  const pairs = await Promise.all(selectors.map(() => generateDkimKey()))
  const row: SendingDomain = {
    id: uuidv7(now),
    workspace_id: workspaceId,
    domain,
    status: wanted.forced ? 'verified' : 'pending',
    forced: wanted.forced ? 1 : 0,
    inbound: wanted.inbound ? 1 : 0,
    track_opens: 0,
    track_clicks: 0,
    created_at: now,
    verified_at: wanted.forced ? now : null,
    record_states: toJson({}),
    checked_at: null,
    next_check_at: wanted.forced ? null : now + FIRST_CHECK_DELAY,
    unproved_since: wanted.forced ? null : now,
    rotation_asked_at: null,
  }
  const keys = selectors.map((selector, place) =>
    insertDkimKey(toKeyRow({ workspaceId, domain, selector, now }, pairs[place], place === 0)),
  )
  return { row, writes: [insertDomain(row), ...keys] }
}

/**
 * Throws a Refusal: `conflict` where the workspace has it already, `domain-taken` where
 * another has it verified, `invalid-parameter` where it is too long.
 */
export function requireClaimable(
  read: Read,
  { workspaceId, domain }: Pick<DomainRequest, 'workspaceId' | 'domain'>,
): void {
  requireDomainLength(domain)
  if (domainByName(read, { workspaceId, domain }).length > 0) {
    throw new Refusal('conflict', `${domain} is registered in this workspace already`, { value: domain })
  }
  requireNotTaken(read, workspaceId, domain)
}

/** The return paths in the domain's mail host must fit into an address. */
function requireDomainLength(domain: DomainName): void {
  if (domain.length <= MAX_DOMAIN_LENGTH) return
  throw new Refusal(
    'invalid-parameter',
    `a sending domain may have ${MAX_DOMAIN_LENGTH} characters, found ${domain.length}`,
    {
      field: 'domain',
      value: formatForDisplay(domain),
    },
  )
}

/** Throws a Refusal `domain-taken` where another workspace has the domain verified. */
export function requireNotTaken(read: Read, workspaceId: string, domain: DomainName): void {
  if (verifiedByName(read, { domain }).some((other) => other.workspace_id !== workspaceId)) {
    throw new Refusal('domain-taken', `another workspace has verified ${domain}`, { value: domain })
  }
}

export interface DkimKeySlot {
  readonly workspaceId: string
  readonly domain: DomainName
  readonly selector: string
  readonly now: number
}

/** An existing key takes the selector's place, and signs from now on. */
export function installImportedKey(place: DkimKeySlot, pem: string): Write[] {
  const { selector } = place
  const isName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(selector)
  if (!isName || selector.length > MAX_SELECTOR_LENGTH) {
    const allowed = `labels of a host name, ${MAX_SELECTOR_LENGTH} characters in all`
    throw new Refusal('invalid-parameter', `selector: found "${selector}", allowed: ${allowed}`)
  }
  const lower = { ...place, selector: place.selector.toLowerCase() }
  const row = toKeyRow(lower, importDkimKey(pem), true)
  return [stopSigning(lower), deleteDkimKey(lower), insertDkimKey(row)]
}

function toKeyRow(place: DkimKeySlot, pair: DkimKeyPair | undefined, signing: boolean): DkimKeyRow {
  if (pair === undefined) throw new Error('a selector without a key')
  return {
    id: uuidv7(place.now),
    workspace_id: place.workspaceId,
    domain: place.domain,
    selector: place.selector,
    private_key: pair.privateKey,
    public_record: pair.publicRecord,
    signing: signing ? 1 : 0,
    created_at: place.now,
    usable_at: 0,
    retired_at: null,
  }
}

/**
 * A new key under this selector, in the place of the one with the id `old`; it is to sign from
 * `usableAt` on. Misses when that one is gone, or signs.
 */
export async function replaceIdleKey(place: DkimKeySlot, old: string | null, usableAt: number): Promise<Write[]> {
  const row = { ...toKeyRow(place, await generateDkimKey(), false), usable_at: usableAt }
  const { workspaceId } = place
  return [...(old === null ? [] : [deleteIdleKey({ workspaceId, id: old })]), insertDkimKey(row)]
}

/** Another than those of sending domains: `mail_from` may lie in one of them. */
const SERVICE_SELECTOR = 'service'

/** The service's own key, for the domain of `service.mail_from`. */
export async function createServiceKey(domain: DomainName, now: number, workspaceId: string): Promise<Write> {
  const place = { workspaceId, domain, selector: SERVICE_SELECTOR, now }
  return insertDkimKey(toKeyRow(place, await generateDkimKey(), true))
}

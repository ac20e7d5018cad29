/**
 * A new sending domain: decides whether a workspace may claim it, and makes the writes of the claim with its two
 * DKIM keys.
 */
import { type DomainName, formatForDisplay } from '../../base/mail/address.js'
import { Refusal } from '../../base/mail/refusal.js'
import { uuidv7 } from '../../base/platform/ids.js'
import type { Read } from '../../base/storage/db/prepared.js'
import type { Write } from '../../base/storage/db/write.js'
import { toJson } from '../../base/storage/tables/columns.js'
import { type DkimKeyPair, generateDkimKey, importDkimKey } from './dkim/key.js'
import {
  type DkimKeyRow,
  deleteDkimKey,
  deleteIdleKey,
  insertDkimKey,
  selectors,
  stopSigning,
} from './dkim/signing-keys.js'
import { domainByName, insertDomain, type SendingDomain, verifiedByName } from './rows/sending-domains.js'

/** 254 octets of an address, less the 50 of `bounce+<token>@` and the 9 of `posthorn.`. */
const MAX_DOMAIN_LENGTH = 195

/** The length of one label, so that the full name fits into the zone. */
const MAX_SELECTOR_LENGTH = 63

/** Milliseconds until the first check. Customers do not publish records sooner. */
const FIRST_CHECK_DELAY = 3_600_000

export interface DomainRequest {
  readonly workspaceId: string
  readonly domain: DomainName
  /** True if the operator decides that the domain is verified, without DNS. */
  readonly forced: boolean
  readonly inbound: boolean
  readonly now: number
}

interface NewDomain {
  readonly row: SendingDomain
  readonly writes: Write[]
}

/** Throws a Refusal, as `requireClaimable` does. */
export async function buildDomain(read: Read, request: DomainRequest): Promise<NewDomain> {
  const { workspaceId, domain, now } = request
  await requireClaimable(read, request)
  const pairs = await Promise.all(selectors.map(() => generateDkimKey()))
  const row: SendingDomain = {
    id: uuidv7(now),
    workspace_id: workspaceId,
    domain,
    status: request.forced ? 'verified' : 'pending',
    forced: request.forced ? 1 : 0,
    inbound: request.inbound ? 1 : 0,
    track_opens: null,
    track_clicks: null,
    created_at: now,
    verified_at: request.forced ? now : null,
    record_states: toJson({}),
    checked_at: null,
    next_check_at: request.forced ? null : now + FIRST_CHECK_DELAY,
    unproved_since: request.forced ? null : now,
    rotation_asked_at: null,
    inbound_policy: toJson({}),
  }
  const keys = selectors.map((selector, index) =>
    insertDkimKey(toKeyRow({ workspaceId, domain, selector, now }, pairs[index], index === 0)),
  )
  return { row, writes: [insertDomain(row), ...keys] }
}

/**
 * Throws a Refusal: `conflict` if the workspace has the domain already, `domain-taken` if another workspace has it
 * verified, `invalid-parameter` if it is too long.
 */
export async function requireClaimable(
  read: Read,
  { workspaceId, domain }: Pick<DomainRequest, 'workspaceId' | 'domain'>,
): Promise<void> {
  requireDomainLength(domain)
  if ((await domainByName(read, { workspaceId, domain })).length > 0) {
    throw new Refusal('conflict', `${domain} is registered in this workspace already`, { value: domain })
  }
  await requireNotTaken(read, workspaceId, domain)
}

/** Return paths at the domain's mail host must fit into an address. */
function requireDomainLength(domain: DomainName): void {
  if (domain.length <= MAX_DOMAIN_LENGTH) return
  throw new Refusal(
    'invalid-parameter',
    `a sending domain may have at most ${MAX_DOMAIN_LENGTH} characters, found ${domain.length}`,
    {
      field: 'domain',
      value: formatForDisplay(domain),
    },
  )
}

/** Throws a Refusal `domain-taken` if another workspace has the domain verified. */
export async function requireNotTaken(read: Read, workspaceId: string, domain: DomainName): Promise<void> {
  if ((await verifiedByName(read, { domain })).some((other) => other.workspace_id !== workspaceId)) {
    throw new Refusal('domain-taken', `another workspace has verified ${domain}`, { value: domain })
  }
}

interface DkimKeySlot {
  readonly workspaceId: string
  readonly domain: DomainName
  readonly selector: string
  readonly now: number
}

/** Imports a key under the selector. The key signs from now on. */
export function installImportedKey(keySlot: DkimKeySlot, pem: string): Write[] {
  const { selector } = keySlot
  const isName = /^[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i.test(selector)
  if (!isName || selector.length > MAX_SELECTOR_LENGTH) {
    const allowed = `labels of a host name, ${MAX_SELECTOR_LENGTH} characters in all`
    throw new Refusal('invalid-parameter', `selector: found "${selector}", allowed: ${allowed}`)
  }
  const lower = { ...keySlot, selector: keySlot.selector.toLowerCase() }
  const row = toKeyRow(lower, importDkimKey(pem), true)
  return [stopSigning(lower), deleteDkimKey(lower), insertDkimKey(row)]
}

function toKeyRow(keySlot: DkimKeySlot, pair: DkimKeyPair | undefined, signing: boolean): DkimKeyRow {
  if (pair === undefined) throw new Error('no key was generated for a selector')
  return {
    id: uuidv7(keySlot.now),
    workspace_id: keySlot.workspaceId,
    domain: keySlot.domain,
    selector: keySlot.selector,
    private_key: pair.privateKey,
    public_record: pair.publicRecord,
    signing: signing ? 1 : 0,
    created_at: keySlot.now,
    usable_at: 0,
    retired_at: null,
  }
}

/**
 * Replaces the key with the id `old` by a new one under this selector. The new key may sign from `usableAt` on.
 * Misses if the old key is gone, or if it signs.
 */
export async function replaceIdleKey(keySlot: DkimKeySlot, old: string | null, usableAt: number): Promise<Write[]> {
  const row = { ...toKeyRow(keySlot, await generateDkimKey(), false), usable_at: usableAt }
  const { workspaceId } = keySlot
  return [...(old === null ? [] : [deleteIdleKey({ workspaceId, id: old })]), insertDkimKey(row)]
}

/** Differs from the selectors of sending domains, because `mail_from` may be in one of them. */
const SERVICE_SELECTOR = 'service'

/** Makes the service's own key, for the domain of `service.mail_from`. */
export async function createServiceKey(domain: DomainName, now: number, workspaceId: string): Promise<Write> {
  const keySlot = { workspaceId, domain, selector: SERVICE_SELECTOR, now }
  return insertDkimKey(toKeyRow(keySlot, await generateDkimKey(), true))
}

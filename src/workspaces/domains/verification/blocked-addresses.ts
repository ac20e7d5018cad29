/**
 * Addresses at which a domain refuses mail, although it accepts any other local part.
 *
 * The match is exact: if you block `info@`, `info+news@` stays open, so you can close a single abused address. Case
 * and unnecessary quotes do not matter. You cannot block `postmaster`, because a domain that accepts mail must
 * accept mail to it (RFC 5321 section 4.5.1).
 */
import { type DomainName, domainOf, formatForDisplay, tryParseAddress } from '../../../base/mail/address.js'
import { localPartKey } from '../../../base/mail/mailbox-key.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { prepareRead, prepareWrite, type Read } from '../../../base/storage/db/prepared.js'
import type { Write } from '../../../base/storage/db/write.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import type { SendingDomain } from '../rows/sending-domains.js'

export const MAX_BLOCKED = 1_000

type DomainRef = Pick<SendingDomain, 'id' | 'workspace_id'>

/**
 * The key of a local part, or of an address in that domain, that a user wrote. Throws a Refusal `invalid-parameter`
 * that names the field.
 */
export function parseBlockedLocalPart(text: string, domain: DomainName, field: string): string {
  const address = tryParseAddress(text) ?? tryParseAddress(`${text}@${domain}`)
  if (address === null || domainOf(address) !== domain) {
    throw buildRefusal(text, field, `allowed: a local part, or an address of ${domain}`)
  }
  const key = localPartKey(address)
  if (key === 'postmaster') throw buildRefusal(text, field, 'a domain that takes mail must take mail to its postmaster')
  return key
}

function buildRefusal(text: string, field: string, rule: string): Refusal {
  return new Refusal('invalid-parameter', `${field}: found "${formatForDisplay(text)}"; ${rule}`, {
    field,
    value: formatForDisplay(text),
  })
}

export function requireBlockedCapacity(count: number, field: string): void {
  if (count <= MAX_BLOCKED) return
  const message = `${field}: a domain may have ${MAX_BLOCKED} blocked addresses, this would be ${count}`
  throw new Refusal('invalid-parameter', message, { field, value: count })
}

const blockedRows = prepareRead<DomainRef>()(({ db, slot }) =>
  db
    .selectFrom('blocked_addresses')
    .select('local_part')
    .where('workspace_id', '=', slot('workspace_id'))
    .where('domain_id', '=', slot('id'))
    .orderBy('local_part'),
)

const insertBlocked = prepareWrite<Tables['blocked_addresses']>(({ db, slot }) =>
  db
    .insertInto('blocked_addresses')
    .values({
      workspace_id: slot('workspace_id'),
      domain_id: slot('domain_id'),
      local_part: slot('local_part'),
    })
    .onConflict((conflict) => conflict.doNothing()),
)

const removeBlocked = prepareWrite<Tables['blocked_addresses']>(({ db, slot }) =>
  db
    .deleteFrom('blocked_addresses')
    .where('workspace_id', '=', slot('workspace_id'))
    .where('domain_id', '=', slot('domain_id'))
    .where('local_part', '=', slot('local_part')),
)

const removeAllBlocked = prepareWrite<DomainRef>(({ db, slot }) =>
  db
    .deleteFrom('blocked_addresses')
    .where('workspace_id', '=', slot('workspace_id'))
    .where('domain_id', '=', slot('id')),
)

/** The blocked local parts in alphabetical order. */
export async function listBlockedLocalParts(read: Read, place: DomainRef): Promise<string[]> {
  return (await blockedRows(read, place)).map(({ local_part }) => local_part)
}

export function blockAddresses({ id: domain_id, workspace_id }: DomainRef, keys: readonly string[]): Write[] {
  return keys.map((local_part) => insertBlocked({ workspace_id, domain_id, local_part }))
}

export function unblockAddresses({ id: domain_id, workspace_id }: DomainRef, keys: readonly string[]): Write[] {
  return keys.map((local_part) => removeBlocked({ workspace_id, domain_id, local_part }))
}

/** Unblocks all addresses, in the commit that deletes the domain. */
export function unblockAllAddresses(place: DomainRef): Write {
  return removeAllBlocked(place)
}

/**
 * Forwarding rules of a domain that receives mail. A rule says which addresses forward to which others and to which
 * webhook.
 *
 * A rule names a local part, or `*` for all that no other rule of the domain names. The rule `sales+x` matches a
 * message to `sales+x`. If there is none, the rule `sales` matches, and otherwise `*`. Case and unnecessary quotes
 * do not matter.
 */
import type { Selectable } from 'kysely'
import {
  type Address,
  type DomainName,
  domainOf,
  formatForDisplay,
  tryParseAddress,
} from '../../../base/mail/address.js'
import { localPartKey } from '../../../base/mail/mailbox-key.js'
import { Refusal } from '../../../base/mail/refusal.js'
import { prepareRead, prepareWrite } from '../../../base/storage/db/prepared.js'
import type { Flag, Json } from '../../../base/storage/tables/columns.js'
import type { Tables } from '../../../base/storage/tables/tables.js'
import type { SendingDomain } from '../rows/sending-domains.js'

export type ForwardRule = Selectable<Tables['forward_rules']>

/** Matches every local part that no other rule names. */
const CATCH_ALL = '*'
export const MAX_RULES = 1_000
export const MAX_TARGETS = 10

/** Violates a constraint if the domain has a rule for the local part. */
export const insertRule = prepareWrite<ForwardRule>(({ db, slot }) =>
  db.insertInto('forward_rules').values({
    id: slot('id'),
    workspace_id: slot('workspace_id'),
    domain_id: slot('domain_id'),
    local_part: slot('local_part'),
    targets: slot('targets'),
    webhook_id: slot('webhook_id'),
    keep: slot('keep'),
    enabled: slot('enabled'),
    created_at: slot('created_at'),
  }),
)

interface RuleRef {
  readonly workspaceId: string
  readonly domainId: string
  readonly id: string
}

/** Stores the complete new values. Misses if the rule is gone. */
export const updateRule = prepareWrite<
  RuleRef & { targets: Json<readonly Address[]>; webhook_id: string | null; keep: Flag; enabled: Flag }
>(
  ({ db, slot }) =>
    db
      .updateTable('forward_rules')
      .set({
        targets: slot('targets'),
        webhook_id: slot('webhook_id'),
        keep: slot('keep'),
        enabled: slot('enabled'),
      })
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('domain_id', '=', slot('domainId')),
  1,
)

/** Misses if the rule is gone. */
export const deleteRule = prepareWrite<RuleRef>(
  ({ db, slot }) =>
    db
      .deleteFrom('forward_rules')
      .where('id', '=', slot('id'))
      .where('workspace_id', '=', slot('workspaceId'))
      .where('domain_id', '=', slot('domainId')),
  1,
)

/** Deletes the rules in the commit that deletes the domain. */
export const deleteRulesOf = prepareWrite<Pick<SendingDomain, 'id' | 'workspace_id'>>(({ db, slot }) =>
  db.deleteFrom('forward_rules').where('workspace_id', '=', slot('workspace_id')).where('domain_id', '=', slot('id')),
)

export const ruleById = prepareRead<RuleRef>()(({ db, slot }) =>
  db
    .selectFrom('forward_rules')
    .selectAll()
    .where('id', '=', slot('id'))
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain_id', '=', slot('domainId')),
)

export const rulesOfDomain = prepareRead<Omit<RuleRef, 'id'>>()(({ db, slot }) =>
  db
    .selectFrom('forward_rules')
    .selectAll()
    .where('workspace_id', '=', slot('workspaceId'))
    .where('domain_id', '=', slot('domainId'))
    .orderBy('local_part'),
)

/** Picks the rule for a local part (as `localPartKey` makes it) among those of its domain. */
export function pickRule<Rule>(rules: ReadonlyMap<string, Rule>, key: string): Rule | undefined {
  const plus = key.indexOf('+')
  const base = plus > 0 && !key.startsWith('"') ? rules.get(key.slice(0, plus)) : undefined
  return rules.get(key) ?? base ?? rules.get(CATCH_ALL)
}

/**
 * The local part that a user named: alone, as an address of the domain, or as `*`. Throws a Refusal
 * `invalid-parameter`.
 */
export function parseMatch(text: string, domain: DomainName): string {
  if (text === CATCH_ALL || text === `${CATCH_ALL}@${domain}`) return CATCH_ALL
  const address = tryParseAddress(text) ?? tryParseAddress(`${text}@${domain}`)
  if (address !== null && domainOf(address) === domain) return localPartKey(address)
  throw buildInvalid('match', text, `allowed: a local part, an address of ${domain}, or "*" for all others`)
}

/** Throws a Refusal if the rule would match what it forwards, because such a message would come back forever. */
export function requireNoLoop(match: string, domain: DomainName, targets: readonly Address[]): void {
  for (const [place, target] of targets.entries()) {
    if (domainOf(target) !== domain) continue
    if (pickRule(new Map([[match, true]]), localPartKey(target)) === undefined) continue
    throw buildInvalid(`to[${place}]`, target, 'the rule matches this address itself: mail would go in a circle')
  }
}

function buildInvalid(field: string, text: string, rule: string): Refusal {
  const value = formatForDisplay(text)
  return new Refusal('invalid-parameter', `${field}: found "${value}"; ${rule}`, { field, value })
}

/**
 * The enabled forwarding rules of domains, cached in memory for every message that comes in.
 *
 * Entries stay until they are dropped or pushed out. Limit: 100,000 targets and domains in total.
 */
import { type Address, type DomainName, domainOf } from '../../../base/mail/address.js'
import { localPartKey } from '../../../base/mail/mailbox-key.js'
import { RecordCache } from '../../../base/platform/record-cache.js'
import type { Read } from '../../../base/storage/db/prepared.js'
import type { FollowsTables } from '../../../base/storage/db/table-changes.js'
import { parseJson } from '../../../base/storage/tables/columns.js'
import { domainByName } from '../rows/sending-domains.js'
import { type ForwardRule, pickRule, rulesOfDomain } from './forward-rules.js'

const MAX_WEIGHT = 100_000

export interface ActiveRule {
  readonly id: string
  readonly targets: readonly Address[]
  readonly webhookId: string | null
  readonly keep: boolean
}

/** Rules by local part. */
type DomainRules = ReadonlyMap<string, ActiveRule>

export class ForwardRuleCache extends RecordCache<DomainRules, DomainName> implements FollowsTables {
  readonly follows = ['domains', 'forward_rules'] as const

  constructor(private readonly deps: { readonly read: Read }) {
    super({ max: MAX_WEIGHT, weightOf })
  }

  protected async load(workspaceId: string, domain: DomainName): Promise<DomainRules> {
    const { read } = this.deps
    const [row] = await domainByName(read, { workspaceId, domain })
    const rules = row === undefined ? [] : await rulesOfDomain(read, { workspaceId, domainId: row.id })
    return new Map(rules.filter(({ enabled }) => enabled === 1).map((rule) => [rule.local_part, toActiveRule(rule)]))
  }
}

/** Finds the rule that matches an address of the workspace. */
export async function findRule(
  rules: Pick<ForwardRuleCache, 'find'>,
  workspaceId: string,
  address: Address,
): Promise<ActiveRule | undefined> {
  return pickRule(await rules.find(workspaceId, domainOf(address)), localPartKey(address))
}

function weightOf(rules: DomainRules): number {
  return [...rules.values()].reduce((sum, { targets }) => sum + 1 + targets.length, 1)
}

function toActiveRule({ id, targets, webhook_id: webhookId, keep }: ForwardRule): ActiveRule {
  return { id, targets: parseJson(targets), webhookId, keep: keep === 1 }
}

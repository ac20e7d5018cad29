/**
 * Finds the hold rule that an entry matches, in memory.
 *
 * A rule with a recipient domain is found by that domain. Another rule is found by its workspace or the workspace's
 * owner, or by the domain of its sender. Each rule without any of these is compared with the entry. Patterns have no
 * syntax except `*`, so a pattern is matched by searching its pieces from left to right.
 */
import { type HoldRule, workspaceOfRule } from './hold-rules.js'
import type { QueueEntry } from './queue.js'

type Judged = Pick<QueueEntry, 'workspace_id' | 'domain' | 'recipient'>

interface CompiledRule {
  readonly rule: HoldRule
  /** The pieces between the wildcards of the rule's pattern. Null if it has no pattern. */
  readonly pieces: readonly string[] | null
}

/**
 * Finds the oldest rule that matches, first by recipient domain, then by workspace, owner and sender's domain, and then
 * among the others. Returns null if there is none. `sender` is null if the message is gone.
 */
export type MatchHoldRule = (entry: Judged, sender: string | null) => HoldRule | null

export function compileHoldRules(
  rules: readonly HoldRule[],
  ownerOf: (workspaceId: string) => string = (workspaceId) => workspaceId,
): MatchHoldRule {
  const byDomain = new Map<string, CompiledRule[]>()
  const byWorkspace = new Map<string, CompiledRule[]>()
  const byOwner = new Map<string, CompiledRule[]>()
  const bySender = new Map<string, CompiledRule[]>()
  const others: CompiledRule[] = []
  for (const rule of rules) {
    const compiled = { rule, pieces: rule.pattern?.split('*') ?? null }
    const workspaceId = workspaceOfRule(rule)
    if (rule.domain !== null) addTo(byDomain, rule.domain, compiled)
    else if (workspaceId !== null) addTo(byWorkspace, workspaceId, compiled)
    else if (rule.reason !== null && rule.sender !== null) addTo(bySender, rule.sender, compiled)
    else others.push(compiled)
    if (rule.owner !== null) addTo(byOwner, rule.owner, compiled)
  }
  return (entry, writtenSender) => {
    const sender = writtenSender?.toLowerCase() ?? null
    const matching = (compiled: CompiledRule): boolean => matchesRule(compiled, entry, sender)
    const found =
      byDomain.get(entry.domain)?.find(matching) ??
      byWorkspace.get(entry.workspace_id)?.find(matching) ??
      (byOwner.size === 0 ? undefined : byOwner.get(ownerOf(entry.workspace_id))?.[0]) ??
      (bySender.size === 0 ? undefined : bySender.get(domainOf(sender))?.[0]) ??
      others.find(matching)
    return found?.rule ?? null
  }
}

function domainOf(address: string | null): string {
  return address === null ? '' : address.slice(address.lastIndexOf('@') + 1)
}

function addTo(rules: Map<string, CompiledRule[]>, key: string, rule: CompiledRule): void {
  const known = rules.get(key)
  if (known === undefined) rules.set(key, [rule])
  else known.push(rule)
}

function matchesRule({ rule, pieces }: CompiledRule, entry: Judged, sender: string | null): boolean {
  const workspaceId = workspaceOfRule(rule)
  if (workspaceId !== null && workspaceId !== entry.workspace_id) return false
  if (pieces !== null && !matchesPieces(pieces, entry.recipient.toLowerCase())) return false
  if (rule.sender === null) return true
  if (sender === null) return false
  return rule.sender.includes('@') ? sender === rule.sender : sender.endsWith(`@${rule.sender}`)
}

/** Tells whether the first piece begins the text, the last ends it, and the others follow each other in between. */
export function matchesPieces(pieces: readonly string[], text: string): boolean {
  const [first = '', ...others] = pieces
  if (!text.startsWith(first)) return false
  const last = others.pop()
  if (last === undefined) return text.length === first.length
  let at = first.length
  for (const piece of others) {
    const found = text.indexOf(piece, at)
    if (found === -1) return false
    at = found + piece.length
  }
  return text.length - last.length >= at && text.endsWith(last)
}
